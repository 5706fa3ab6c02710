import Graph
import Testing

@Suite struct CrossingTests {
  @Test func whatCrossesIsCountedOnceForEachReader() throws {
    var graph = Graph(name: "crossing")
    let type = TensorType(.f32, [8])
    let x = graph.append(source: .input, type: type, name: "x")
    let first = try graph.append(.affine(scale: 2, offset: 0), [x], name: "first")
    let second = try graph.append(.affine(scale: 3, offset: 0), [first], name: "second")
    let third = try graph.append(.binary(.add), [first, second], name: "third")
    graph.addOutput("y", third)
    let units = [first: UnitID.neuralEngine, second: .cpu, third: .neuralEngine]
    let segments = try graph.segments { units[$0.id] ?? .cpu }
    #expect(
      graph.crossings(segments) == [
        Crossing(from: .cpu, to: .neuralEngine, byteCount: 64),
        Crossing(from: .neuralEngine, to: .cpu, byteCount: 64),
      ]
    )
    #expect(graph.crossings(try graph.segments { _ in .cpu }).isEmpty)
  }

  @Test func constantsReshapesAndHostWorkAreNoOperations() throws {
    var graph = Graph(name: "operations")
    let x = graph.append(source: .input, type: TensorType(.f32, [8]), name: "x")
    let view = try graph.append(.reshape([2, 4]), [x], name: "view")
    let sum = try graph.append(.affine(scale: 2, offset: 0), [view], name: "sum")
    graph.addOutput("y", sum)
    #expect(graph.readers == [[view], [sum], []])
    #expect(graph.nodes.filter { graph.isOperation($0) }.map(\.name) == ["sum"])
  }
}
