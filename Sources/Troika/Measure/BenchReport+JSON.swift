import Graph
public import Models

extension BenchReport {
  /// The document that files hold; see Docs/Benchmarks.md.
  public var json: JSONValue {
    .object(fields: heading + [("stages", .array(rows.map(\.json)))])
  }

  /// All of the document but the stages.
  public var heading: [(String, JSONValue)] {
    [
      ("schema", .integer(Self.schema)),
      ("machine", machine.json),
      ("model", .string(model)),
      ("shapes", .string(shapes)),
      ("suite", .string(suite)),
      (
        "limits",
        .array(
          limits.map { limit in
            .object(fields: [
              ("unit", .string(limit.unit.name)),
              ("flopsPerSecond", .number(limit.flopsPerSecond)),
              ("bytesPerSecond", .number(limit.bytesPerSecond)),
            ])
          }
        )
      ),
      (
        "refusals",
        .array(
          refusals.map { refusal in
            .object(fields: [
              ("stage", .string(refusal.stage)), ("unit", .string(refusal.unit.name)),
              ("reason", .string(refusal.reason)),
            ])
          }
        )
      ),
      (
        "time",
        .object(fields: [
          ("wallNs", .integer(wallNanoseconds)),
          (
            "shares",
            .object(fields: shares.map { ($0.name, .integer($0.nanoseconds)) })
          ),
          ("residualNs", .integer(residualNanoseconds)),
        ])
      ),
    ]
  }

  /// Reads a document.
  ///
  /// - Throws: `JSONError` where it is of another schema or malformed.
  public init(_ root: JSONNode) throws(JSONError) {
    let schema = try root.member("schema")
    guard schema.value == .integer(Self.schema) else {
      throw schema.mismatch(
        "\(Self.schema), the only one this version reads",
        came: schema.value.text(.compact)
      )
    }
    self.init(
      machine: try MachineFacts(root.member("machine")),
      model: try root.member("model").string(),
      shapes: try root.member("shapes").string(),
      suite: try root.member("suite").string()
    )
    for node in try root.member("limits").elements() {
      let unit = UnitID(try node.member("unit").string())
      limits.append(
        UnitLimit(
          unit: unit,
          flopsPerSecond: try node.double("flopsPerSecond"),
          bytesPerSecond: try node.double("bytesPerSecond")
        )
      )
    }
    for node in try root.member("refusals").elements() {
      refusals.append(
        Refusal(
          stage: try node.member("stage").string(),
          unit: UnitID(try node.member("unit").string()),
          reason: try node.member("reason").string()
        )
      )
    }
    let time = try root.member("time")
    wallNanoseconds = try time.integer("wallNs")
    let parts = try time.member("shares")
    for key in try parts.object().keys {
      shares.append(Share(name: key, nanoseconds: try parts.integer(key)))
    }
    for node in try root.member("stages").elements() { rows.append(try Row(node)) }
  }
}

extension BenchReport.Row {
  /// A stage as documents hold it; `summary` is for people and other tools, it is not read.
  public var json: JSONValue {
    func optional(_ value: Int?) -> JSONValue { value.map { .integer($0) } ?? .null }
    func list(_ values: [Int]) -> JSONValue { .array(values.map { .integer($0) }) }
    let summary = samples.summary
    return .object(fields: [
      ("stage", .string(stage)), ("unit", .string(unit.name)),
      ("buildNs", optional(buildNanoseconds)), ("compileNs", optional(compileNanoseconds)),
      ("firstNs", optional(firstNanoseconds)), ("busyNs", .integer(busyNanoseconds)),
      ("flops", .integer(work.flops)), ("weightBytes", .integer(work.weightByteCount)),
      ("activationBytes", .integer(work.activationByteCount)),
      ("operations", .integer(operations)), ("elsewhere", .integer(elsewhere)),
      (
        "summary",
        .object(fields: [
          ("medianNs", .number(summary.median)), ("p10Ns", .number(summary.p10)),
          ("p90Ns", .number(summary.p90)), ("p99Ns", .number(summary.p99)),
          ("deviationNs", .number(summary.deviation)),
        ])
      ),
      ("samplesNs", list(samples.nanoseconds)),
      ("yardstickNs", list(samples.yardsticks.first ?? [])),
      ("otherYardsticksNs", .array(samples.yardsticks.dropFirst().map { list($0) })),
      ("disturbed", list(samples.disturbed)), ("processes", list(samples.processes)),
    ])
  }

  init(_ node: JSONNode) throws(JSONError) {
    func optional(_ key: String) throws(JSONError) -> Int? {
      guard let value = try node.optional(key) else { return nil }
      return try value.integer()
    }
    func list(_ node: JSONNode) throws(JSONError) -> [Int] {
      var values: [Int] = []
      for element in try node.elements() {
        let value = try element.integer()
        guard value >= 0 else { throw element.mismatch("at least 0", came: "\(value)") }
        values.append(value)
      }
      return values
    }
    var yardsticks = [try list(node.member("yardstickNs"))]
    for other in try node.optional("otherYardsticksNs")?.elements() ?? [] {
      yardsticks.append(try list(other))
    }
    var processes: [Int] = []
    if let counts = try node.optional("processes") { processes = try list(counts) }
    self.init(
      stage: try node.member("stage").string(),
      unit: UnitID(try node.member("unit").string()),
      samples: PairedSamples(
        try list(node.member("samplesNs")),
        yardsticks: yardsticks,
        disturbed: try list(node.member("disturbed")),
        processes: processes
      )
    )
    buildNanoseconds = try optional("buildNs")
    compileNanoseconds = try optional("compileNs")
    firstNanoseconds = try optional("firstNs")
    busyNanoseconds = try node.integer("busyNs")
    work = StageWork(
      flops: try node.integer("flops"),
      weightByteCount: try node.integer("weightBytes"),
      activationByteCount: try node.integer("activationBytes")
    )
    operations = try node.integer("operations")
    elsewhere = try node.integer("elsewhere")
  }
}

extension MachineFacts {
  /// The facts as documents hold them.
  public var json: JSONValue {
    .object(fields: [
      ("processor", .string(processor)), ("processors", .integer(processors)),
      ("threads", .integer(threads)), ("memoryBytes", .integer(memoryByteCount)),
      ("governor", .string(governor)), ("kernels", .string(kernels)),
      ("vulkan", vulkan.map { .string($0) } ?? .null), ("troika", .string(troika)),
      ("compiler", .string(compiler)),
    ])
  }

  init(_ node: JSONNode) throws(JSONError) {
    var device: String?
    if let given = try node.optional("vulkan") { device = try given.string() }
    self.init(
      processor: try node.member("processor").string(),
      processors: try node.integer("processors"),
      threads: try node.integer("threads"),
      memoryByteCount: try node.integer("memoryBytes"),
      governor: try node.member("governor").string(),
      kernels: try node.member("kernels").string(),
      vulkan: device,
      troika: try node.member("troika").string(),
      compiler: try node.member("compiler").string()
    )
  }
}
