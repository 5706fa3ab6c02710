import Graph
import TestSupport
import Testing

@Suite struct PlanTests {
  @Test func memoryPlanNeverOverlapsWhatLivesTogether() {
    var random = RandomNumbers(seed: 11)
    for _ in 0..<300 {
      let values = (0..<Int.random(in: 1...24, using: &random)).map { node in
        let start = Int.random(in: 0...20, using: &random)
        let end = start + Int.random(in: 0...8, using: &random)
        return (
          node: node, byteCount: Int.random(in: 0...5000, using: &random), lifetime: start...end
        )
      }
      let plan = MemoryPlan(values)
      for first in values {
        let a = plan.placements[first.node]
        #expect((a?.offset ?? 1) % MemoryPlan.alignment == 0)
        #expect((a?.byteCount ?? -1) >= first.byteCount)
        for second in values where second.node > first.node {
          guard let a, let b = plan.placements[second.node],
            first.lifetime.overlaps(second.lifetime)
          else { continue }
          let apart = a.offset + a.byteCount <= b.offset || b.offset + b.byteCount <= a.offset
          #expect(apart)
        }
      }
      for time in 0...30 {
        let living = values.filter { $0.lifetime.contains(time) }
        let needed = living.map { ($0.byteCount + 63) / 64 * 64 }.reduce(0, +)
        #expect(plan.byteCount >= needed)
      }
    }
  }

  @Test func memoryIsReused() {
    let plan = MemoryPlan([(0, 640, 0...1), (1, 640, 2...3), (2, 640, 1...2)])
    #expect(plan.byteCount == 1280)
  }

  @Test func placementsAreRead() throws {
    let placement = try Placement(
      parsing:
        "vision=gpu,chunks=neuralEngine,head=cpu,decode.chunk3=reference,text.layers.4.*=null"
    )
    #expect(placement.unit(of: .vision) == .gpu)
    #expect(placement.unit(of: .audio) == .cpu)
    #expect(placement.unit(of: .chunk(2, .prefill)) == .neuralEngine)
    #expect(placement.unit(of: .chunk(3, .decode)) == .reference)
    #expect(placement.unit(of: .chunk(3, .prefill)) == .neuralEngine)
    #expect(placement.unit(of: .head(.decode)) == .cpu)
    let node = Node(
      id: 0,
      op: .input,
      inputs: [],
      type: TensorType(.f32, [1]),
      name: "text.layers.4.mlp.up_proj"
    )
    #expect(placement.unit(of: node, in: .chunk(1, .decode)) == .null)
    #expect(try Placement(parsing: "reference").unit(of: .embed) == .reference)
    #expect(try Placement(parsing: "mission").unit(of: .head(.decode)) == .neuralEngine)
  }

  @Test(arguments: [
    "", "tpu", "vision=tpu", "ears=cpu", "chunk0=cpu", "vision", "vision=cpu=gpu", "=cpu",
  ])
  func badPlacementsAreRefused(_ text: String) {
    #expect(throws: PlacementError.self) { try Placement(parsing: text) }
  }

  @Test func timelineKeepsOrderAndSums() {
    var timeline = Timeline()
    for (start, end) in [(5, 9), (0, 3), (12, 20)] {
      timeline.append(
        Timeline.Event(unit: .cpu, program: "p", startNanoseconds: start, endNanoseconds: end)
      )
    }
    #expect(timeline.events.map(\.startNanoseconds) == [0, 5, 12])
    #expect(timeline.makespanNanoseconds == 20)
    #expect(timeline.busyNanoseconds(of: .cpu) == 15)
  }

  @Test func costsFollowShapes() throws {
    let x = TensorType(.f32, [4, 8])
    let w = TensorType(.bf16, [16, 8])
    let cost = Op.linear.cost(inputs: [x, w], result: TensorType(.f32, [4, 16]))
    #expect(cost.flops == 2 * 4 * 8 * 16)
    #expect(cost.bytesRead == 4 * 8 * 4 + 16 * 8 * 2)
    #expect(cost.bytesWritten == 4 * 16 * 4)
    let table = TensorType(.bf16, [1000, 8])
    let gather = Op.gather.cost(
      inputs: [table, TensorType(.i32, [3])],
      result: TensorType(.f32, [3, 8])
    )
    #expect(gather.bytesRead == 3 * 16 + 12)
  }
}

@Suite struct OrderingTests {
  /// A graph of random operations over random earlier values.
  private func random(_ seed: UInt64, count: Int) throws -> Graph {
    var random = RandomNumbers(seed: seed)
    let tracer = Tracer("random", over: MemoryWeights())
    var values = [tracer.input("x", TensorType(.f32, [4, 4]))]
    for _ in 0..<count {
      let a = values[Int.random(in: 0..<values.count, using: &random)]
      let b = values[Int.random(in: 0..<values.count, using: &random)]
      values.append(Bool.random(using: &random) ? a + b : a.gelu())
    }
    tracer.output("y", values.dropFirst().reduce(values[0]) { $0 + $1 })
    return try tracer.finish()
  }

  @Test(arguments: 0..<40)
  func everyOrderIsTopologicalAndComplete(_ seed: Int) throws {
    let graph = try random(UInt64(seed), count: 60)
    var numbers = RandomNumbers(seed: UInt64(seed) + 100)
    let choice = graph.nodes.map { _ in
      [UnitID.cpu, .reference, .null][Int.random(in: 0..<3, using: &numbers)]
    }
    let segments = try graph.segments { choice[$0.id] }
    #expect(segments.reduce(0) { $0 + $1.operationCount } == graph.nodes.count { !$0.isSource })
    var known = Set(graph.inputs.map(\.name))
    for segment in segments {
      #expect(segment.graph.inputs.allSatisfy { known.contains($0.name) })
      known.formUnion(segment.graph.outputs.map(\.name))
    }
    #expect(known.contains("y"))
  }

  @Test func independentWorkIsNotCutApart() throws {
    let tracer = Tracer("two", over: MemoryWeights())
    var left = tracer.input("l", TensorType(.f32, [2]))
    var right = tracer.input("r", TensorType(.f32, [2]))
    for _ in 0..<5 {
      left = tracer.scope("left") { left.gelu() }
      right = tracer.scope("right") { right.silu() }
    }
    tracer.output("y", left + right)
    let graph = try tracer.finish()
    let segments = try graph.segments { $0.name.hasPrefix("right") ? .reference : .cpu }
    #expect(segments.map(\.operationCount) == [5, 6])
  }

  @Test func statesAreWrittenAfterTheyAreRead() throws {
    let tracer = Tracer("state", over: MemoryWeights())
    let cache = tracer.input("cache", TensorType(.f32, [4, 1, 2]))
    let rows = tracer.input("rows", TensorType(.f32, [1, 1, 2]))
    let position = tracer.input("position", TensorType(.i32, [1]))
    let count = tracer.input("count", TensorType(.i32, [1]))
    let updated = tracer.scope("update") {
      cache.updated(with: rows, position: position, count: count)
    }
    tracer.output("cache", updated, isState: true)
    tracer.output("y", tracer.scope("read") { cache.gelu() })
    let segments = try tracer.finish().segments {
      $0.name.hasPrefix("update") ? .reference : .cpu
    }
    #expect(segments.map(\.unit) == [.cpu, .reference])
  }
}
