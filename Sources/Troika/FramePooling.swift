import Devices
import Graph

/// 2 × 2 average pooling of a still picture's token grid, for frames where only the still-image
/// encoder exists.
enum FramePooling {
  /// Tokens that a grid pools to; a last odd row or column is dropped.
  static func tokenCount(rows: Int, columns: Int) -> Int {
    max(1, rows / 2) * max(1, columns / 2)
  }

  /// Features `[rows · columns, D]` pooled in f32 to `[tokenCount, D]`.
  static func pool(_ features: Value, rows: Int, columns: Int) throws -> Value {
    let width = features.type.shape.last
    let (outRows, outColumns) = (max(1, rows / 2), max(1, columns / 2))
    let result = try Value(TensorType(.f32, [outRows * outColumns, width]))
    let source = features.pointer.assumingMemoryBound(to: Float.self)
    let target = result.pointer.assumingMemoryBound(to: Float.self)
    for row in 0..<outRows {
      for column in 0..<outColumns {
        let cells = [(0, 0), (0, 1), (1, 0), (1, 1)].compactMap { down, right -> Int? in
          let (y, x) = (2 * row + down, 2 * column + right)
          return y < rows && x < columns ? y * columns + x : nil
        }
        let output = target + (row * outColumns + column) * width
        for index in 0..<width {
          let sum = cells.reduce(Float(0)) { $0 + source[$1 * width + index] }
          output[index] = sum / Float(cells.count)
        }
      }
    }
    return result
  }
}
