public import Graph

/// How a bundle stores the decoder's matrices.
public enum WeightFormat: String, Hashable, Sendable, CaseIterable {
  /// binary16, 16 bits a weight.
  case f16
  /// Signed bytes, one f16 scale per 32 of a row: 8.5 bits a weight.
  case int8
  /// One 16-entry f16 table per 32 output channels: at most 4.1 bits a weight.
  case int4
  /// Signed 4-bit values, one f16 scale per 32 of a row: 4.5 bits a weight.
  case int4Linear = "int4-linear"

  /// The stored format of a tensor that a model reads in some role.
  ///
  /// Towers stay in f16 whatever the decoder is stored in. Rows that blocks of 32 do not divide are
  /// stored as bytes with one scale a row.
  public func stored(_ role: TensorRole, shape: Shape, inDecoder: Bool) -> DType {
    guard shape.rank >= 2, role != .other || shape.rank > 1 else { return .f32 }
    guard inDecoder, self != .f16, shape.rank == 2, shape.elementCount > 0 else { return .f16 }
    let fitsBlocks = shape.last % 32 == 0
    switch (role, self) {
    case (.table, _): return .int8Row
    case (.other, _): return .f16
    case (.matrix, .int4): return shape.last % 2 == 0 ? .int4Palette32 : .int8Row
    case (.matrix, .int4Linear): return fitsBlocks ? .int4Block32 : .int8Row
    case (.matrix, _): return fitsBlocks ? .int8Block32 : .int8Row
    }
  }
}

/// What a model reads a tensor as.
public enum TensorRole: Hashable, Sendable {
  /// The weight of matrix products alone.
  case matrix
  /// A table of which single rows are taken.
  case table
  /// Anything else: norms, scales, convolutions, position tables.
  case other
}

extension Graph {
  /// What a constant is read as.
  ///
  /// - Parameters:
  ///   - constant: the constant.
  ///   - readers: the nodes that read it.
  /// - Returns: its role.
  func role(of constant: Int, readers: [Int]) -> TensorRole {
    let readers = readers.map { nodes[$0] }
    guard !readers.isEmpty else { return .other }
    let isMatrix = readers.allSatisfy {
      $0.op == .linear && $0.inputs[1] == constant && $0.inputs[0] != constant
    }
    if isMatrix { return .matrix }
    let isTable = readers.allSatisfy { $0.op == .gather && $0.inputs[0] == constant }
    return isTable ? .table : .other
  }
}
