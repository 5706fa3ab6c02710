/// Builds a graph while a model's forward pass is written down.
///
/// The first error is kept and thrown by `finish`, so that a model reads like the paper.
public final class Tracer {
  /// The weights the model is written over.
  public let source: any WeightSource
  private var graph: Graph
  private var scopes: [String] = []
  private var firstError: GraphError?
  private var constants: [Constant: Int] = [:]
  private let taps: Set<String>

  /// A tracer for a program of this name.
  ///
  /// - Parameters:
  ///   - name: what the program is called.
  ///   - source: types of the constants.
  ///   - taps: names given to `tap` that become outputs, beside the model's own.
  public init(_ name: String, over source: any WeightSource, taps: Set<String> = []) {
    graph = Graph(name: name)
    self.source = source
    self.taps = taps
  }

  /// Names what `body` traces as part of `name`.
  public func scope<Result>(_ name: String, _ body: () throws -> Result) rethrows -> Result {
    scopes.append(name)
    defer { scopes.removeLast() }
    return try body()
  }

  /// A value given at launch.
  public func input(_ name: String, _ type: TensorType) -> Tensor {
    Tensor(node: graph.append(source: .input, type: type, name: name), type: type, tracer: self)
  }

  /// A named tensor of the weight source.
  ///
  /// - Parameters:
  ///   - name: its full name there.
  ///   - shape: the shape the model's configuration asks for.
  /// - Returns: the constant, of the format the source has.
  public func weight(_ name: String, _ shape: Shape) -> Tensor {
    guard let type = source.type(of: name, expecting: shape) else {
      record(.missingWeight(name))
      return constant(.weight(name), TensorType(.f32, shape), name: name)
    }
    guard type.shape == shape else {
      record(.weightShape(name: name, expected: shape, got: type.shape))
      return constant(.weight(name), TensorType(type.dtype, shape), name: name)
    }
    return constant(.weight(name), type, name: name)
  }

  /// Numbers that belong to the program itself, f32.
  public func literal(_ values: [Float], _ shape: Shape, name: String) -> Tensor {
    constant(.literal(values), TensorType(.f32, shape), name: name)
  }

  /// Makes a value a result of the program.
  public func output(_ name: String, _ value: Tensor, isState: Bool = false) {
    graph.addOutput(name, value.node, isState: isState)
  }

  /// Makes an inner value a result where the tracer was asked for it by this name.
  public func tap(_ name: String, _ value: Tensor) {
    if taps.contains(name) { output(name, value) }
  }

  /// The finished program.
  ///
  /// - Throws: the first error met while tracing.
  public func finish() throws(GraphError) -> Graph {
    if let firstError { throw firstError }
    try graph.verify()
    return graph
  }

  /// Notes an error; only the first is kept.
  public func record(_ error: GraphError) { firstError = firstError ?? error }

  func append(_ op: Op, _ inputs: [Tensor], as label: String? = nil) -> Tensor {
    let name = (scopes + [label ?? op.kind]).joined(separator: ".")
    do {
      let node = try graph.append(op, inputs.map(\.node), name: name)
      return Tensor(node: node, type: graph.nodes[node].type, tracer: self)
    } catch {
      record(error)
      return inputs[0]
    }
  }

  private func constant(_ constant: Constant, _ type: TensorType, name: String) -> Tensor {
    if let node = constants[constant], graph.nodes[node].type == type {
      return Tensor(node: node, type: type, tracer: self)
    }
    let node = graph.append(source: .constant(constant), type: type, name: name)
    constants[constant] = node
    return Tensor(node: node, type: type, tracer: self)
  }
}
