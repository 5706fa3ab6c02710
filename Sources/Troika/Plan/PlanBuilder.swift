import Devices
import Graph
import Models

/// Collects what each program adds to a plan.
struct PlanBuilder {
  let store: ProgramStore
  private let check: PlacementCheck
  private let registry: Registry
  private var forecast = MemoryForecast()
  private var caches: [String: Int] = [:]
  private var groups: [GroupKey: PlanReport.FallbackGroup] = [:]
  private var order: [GroupKey] = []
  private var counts: [UnitID: PlanReport.Share] = [:]
  private(set) var programs: [PlanReport.Program] = []

  private struct GroupKey: Hashable {
    let unit: UnitID
    let reason: String
  }

  init(_ planned: PlannedModel, _ check: PlacementCheck, _ registry: Registry) {
    self.check = check
    self.registry = registry
    store = ProgramStore(
      model: planned.model,
      weights: planned.weights,
      registry: registry,
      placement: check.placement
    )
  }

  /// Adds a program as it would be compiled.
  mutating func add(_ key: ProgramStore.Key) throws {
    let (traced, part) = try store.trace(key)
    let name = key.name(traced)
    let placed = try store.place(traced.applying(Graph.standardPasses), part)
    let segments = try placed.graph.segments { placed.units[$0.id] ?? .cpu }
    let parts = try segments.map { ($0, try registry.unit($0.unit).footprint(of: $0)) }
    let footprint = parts.reduce(Footprint()) { $0 + $1.1 }
    forecast.add(placed.graph, parts)
    for output in placed.graph.outputs where output.isState {
      caches[output.name] = placed.graph.nodes[output.node].type.byteCount
    }
    count(placed.graph, placed.units, part, in: name)
    for fallback in placed.fallbacks {
      record(fallback.wanted, fallback.reason, fallback.node, in: name)
    }
    var operations: [UnitID: Int] = [:]
    for node in placed.graph.nodes where placed.graph.isOperation(node) {
      operations[placed.units[node.id] ?? .cpu, default: 0] += 1
    }
    programs.append(
      PlanReport.Program(
        name: name,
        unit: check.wanted.unit(of: part),
        segments: segments.map {
          .init(unit: $0.unit, nodes: $0.operationCount, work: ProgramWork($0.graph))
        },
        operations: operations,
        hostOperations: placed.graph.nodes.count { $0.isHostWork },
        weightByteCount: placed.graph.wholeWeightByteCount,
        convertedByteCount: footprint.constantByteCount
          + footprint.convertedWeights.values.reduce(0, +),
        arenaByteCount: footprint.arenaByteCount,
        crossings: placed.graph.crossings(segments)
      )
    )
  }

  /// Counts operations by where they were placed and where they run.
  private mutating func count(
    _ graph: Graph,
    _ units: [Int: UnitID],
    _ part: Part,
    in program: String
  ) {
    for node in graph.nodes where graph.isOperation(node) {
      let (wanted, unit) = (check.wanted.unit(of: node, in: part), units[node.id] ?? .cpu)
      counts[wanted, default: .init(unit: wanted)].placed += 1
      counts[unit, default: .init(unit: unit)].run += 1
      if wanted == unit {
        counts[unit]?.kept += 1
      } else if let refusal = check.refusals[part]?[wanted] {
        record(wanted, refusal, node.name, in: program)
      }
    }
  }

  private mutating func record(
    _ unit: UnitID,
    _ reason: String,
    _ operation: String,
    in program: String
  ) {
    let key = GroupKey(unit: unit, reason: reason)
    if groups[key] == nil { order.append(key) }
    let known = groups[key]
    let (names, programs) = (known?.operations ?? [], known?.programs ?? [])
    groups[key] = PlanReport.FallbackGroup(
      unit: unit,
      reason: reason,
      count: (known?.count ?? 0) + 1,
      operations: names.contains(operation) ? names : names + [operation],
      programs: programs.last == program ? programs : programs + [program]
    )
  }

  /// What the user should know; predictions go by rates that are known already.
  func warnings(
    _ options: Troika.LoadOptions,
    layout: ChunkLayout,
    context: Int
  ) throws -> [String] {
    let slow = try store.slowDeviceWarning(options, layout: layout, context: context, .known)
    return check.warnings + slow
  }

  var fallbacks: [PlanReport.FallbackGroup] { order.compactMap { groups[$0] } }

  var shares: [PlanReport.Share] { counts.values.sorted { $0.unit.name < $1.unit.name } }

  /// Memory of a conversation that fills a context, be it with soft tokens.
  func memory(context: Int) -> PlanReport.Memory {
    PlanReport.Memory(
      weightByteCount: forecast.weightByteCount,
      convertedByteCount: forecast.convertedByteCount,
      cacheByteCount: caches.values.reduce(0, +),
      arenaByteCount: forecast.arenaByteCount,
      bindingByteCount: forecast.bindingByteCount + forecast.featureByteCount(tokens: context),
      tableByteCount: forecast.tableByteCount(rows: context)
    )
  }
}

extension Graph {
  /// Bytes of weights that are read by more than gathers.
  var wholeWeightByteCount: Int {
    nodes.reduce(0) { sum, node in
      guard case .constant(.weight) = node.op, isReadWhole(node.id) else { return sum }
      return sum + node.type.byteCount
    }
  }
}
