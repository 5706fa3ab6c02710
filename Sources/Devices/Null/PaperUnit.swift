import Graph

/// A unit that is known by its rules alone: plans are made over it, nothing runs on it.
struct PaperUnit: ComputeUnit {
  let profile: UnitProfile

  func compile(_ segment: Segment, over source: any WeightSource) throws -> any Executable {
    throw DeviceError.unavailable(unit: profile.unit.name, reason: "it is known by its rules alone")
  }

  func copy(_ source: Value, to target: Value, after: [Moment]) -> Moment {
    let moment = Moment()
    moment.reach(
      .failure(DeviceError.unavailable(unit: profile.unit.name, reason: "it holds no memory"))
    )
    return moment
  }
}
