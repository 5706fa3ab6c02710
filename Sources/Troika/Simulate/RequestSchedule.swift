import Graph
import Models

/// A request's tasks with what they take, and when they run up to the first token.
struct RequestSchedule {
  private let plan: RequestPlan
  private let programs: RequestPrograms
  private let cutsAtMedia: Bool
  private let simulator: Simulator
  let timeline: Timeline

  /// Prices and simulates a plan.
  init(_ plan: RequestPlan, _ programs: RequestPrograms, cutsAtMedia: Bool) throws {
    self.plan = plan
    self.programs = programs
    self.cutsAtMedia = cutsAtMedia
    simulator = Simulator(programs.profile.resources)
    timeline = simulator.timeline(plan.graph, plan.tasks)
  }

  /// Nanoseconds to the end of the first token's last task.
  var firstTokenNanoseconds: Int { timeline.endNanoseconds }

  /// The whole request: decode steps behind the first token.
  ///
  /// - Throws: where a program cannot be traced.
  func simulation(
    _ request: RequestShape,
    placement: Placement,
    byteCount: Int
  ) throws -> Simulation {
    let steps = max(0, min(request.maxTokens, programs.context - request.promptTokens) - 1)
    var whole = timeline
    var rows = LaunchTable()
    rows.add(plan, timeline)
    let decode = try decodeSteps(steps, from: request.promptTokens, into: &whole, &rows)
    let durations = timeline.durations(count: plan.tasks.count)
    return Simulation(
      device: programs.profile.name,
      placement: placement,
      sharedLayers: programs.decoder.sharedLayers,
      promptTokens: request.promptTokens,
      generatedTokens: steps + 1,
      batches: plan.batches.map { [$0.real, $0.shape] },
      cutsAtMedia: cutsAtMedia,
      firstToken: ranged(timeline),
      serialNanoseconds: timeline.serialNanoseconds,
      bound: ScheduleBound(plan.graph, durations: durations),
      step: decode,
      launches: rows.launches,
      joules: Energy.joules(whole, programs.profile),
      timeline: whole,
      peakByteCount: byteCount,
      assumptions: Assumption.all(rows.launches, programs.profile),
      coldNanoseconds: Energy.cold(rows.launches, programs.profile)
    )
  }

  /// The makespan where everything takes as long as expected, as short and as long as it may.
  private func ranged(_ timeline: Timeline) -> Estimate {
    func end(_ pick: (LaunchCost) -> Double) -> Double {
      let scaled = zip(plan.tasks, plan.costs).map { task, cost in
        var task = task
        task.nanoseconds = Int(clamping: pick(cost).rounded())
        return task
      }
      return Double(simulator.times(plan.graph, scaled).map(\.end).max() ?? 0)
    }
    return Estimate(Double(timeline.endNanoseconds), low: end(\.low), high: end(\.high))
  }

  /// Adds decode steps to a timeline; a step's work on units whose time follows the cache grows with it.
  private func decodeSteps(
    _ count: Int,
    from position: Int,
    into whole: inout Timeline,
    _ rows: inout LaunchTable
  ) throws -> Estimate {
    guard count > 0 else { return .zero }
    var total = Estimate.zero
    let growing = programs.placement.units.contains {
      programs.profile.units[$0]?.hasFixedShapes == false
    }
    var step = try RequestPlan(step: position, programs)
    var (end, task) = (whole.endNanoseconds, plan.graph.tasks.count)
    for index in 0..<count {
      if growing, index > 0 {
        step = try RequestPlan(step: position + index, programs)
      }
      // The units are awake behind the prompt.
      let part = simulator.timeline(step.graph, step.tasks.map(\.awake))
      total = total + step.costs.reduce(Estimate.zero) { $0 + $1.estimate }
      rows.add(step, part)
      whole.append(part, at: end, tasks: task)
      end += part.endNanoseconds
      task += step.graph.tasks.count
    }
    return total * (1 / Double(count))
  }
}

extension LaunchCost {
  /// The time with its range.
  var estimate: Estimate { Estimate(nanoseconds, low: low, high: high) }
}

extension TaskCost {
  /// The same where its unit has just run something.
  var awake: TaskCost {
    var cost = self
    cost.wakeNanoseconds = 0
    return cost
  }
}

extension Timeline {
  /// Nanoseconds of each task by its number.
  func durations(count: Int) -> [Int] {
    var durations = [Int](repeating: 0, count: count)
    for event in events {
      if let task = event.task, task < count { durations[task] = event.nanoseconds }
    }
    return durations
  }

  /// Adds another timeline's events behind some time; what has nothing to wait for waits for the last
  /// task before.
  mutating func append(_ other: Timeline, at start: Int, tasks first: Int) {
    for event in other.events {
      append(
        Event(
          unit: event.unit,
          program: event.program,
          kind: event.kind,
          startNanoseconds: event.startNanoseconds + start,
          endNanoseconds: event.endNanoseconds + start,
          task: event.task.map { $0 + first },
          after: event.after.isEmpty && first > 0 ? [first - 1] : event.after.map { $0 + first }
        )
      )
    }
  }
}
