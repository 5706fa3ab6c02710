/// One operation of a graph with the type of its result.
public struct Node: Hashable, Sendable, Identifiable {
  /// Its index in the graph.
  public let id: Int
  /// What it computes.
  public let op: Op
  /// Indices of its operands, each below `id`.
  public let inputs: [Int]
  /// The type of its result.
  public let type: TensorType
  /// Where in the model it stands, dots between levels: `layers.3.mlp.down_proj`.
  public let name: String

  /// A node from its parts; `Graph.append` is the usual way.
  public init(id: Int, op: Op, inputs: [Int], type: TensorType, name: String) {
    self.id = id
    self.op = op
    self.inputs = inputs
    self.type = type
    self.name = name
  }
}
