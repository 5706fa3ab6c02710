import Graph

extension Op {
  static func linear(_ x: [ReferenceTensor]) -> [Float] {
    let (rows, depth, width) = (x[0].rows, x[0].width, x[1].shape[0])
    var result = [Float](repeating: 0, count: rows * width)
    for row in 0..<rows {
      for column in 0..<width {
        var sum = x.count > 2 ? Double(x[2].numbers[column]) : 0
        for k in 0..<depth {
          sum += Double(x[0].numbers[row * depth + k]) * Double(x[1].numbers[column * depth + k])
        }
        result[row * width + column] = Float(sum)
      }
    }
    return result
  }

  static func matmul(
    _ a: ReferenceTensor,
    _ b: ReferenceTensor,
    transposed: Bool,
    to shape: Shape
  ) -> [Float] {
    let (rows, depth, width) = (a.shape[-2], a.width, shape.last)
    let batches = shape.extents.dropLast(2).reduce(1, *)
    var result = [Float](repeating: 0, count: shape.elementCount)
    for batch in 0..<batches {
      for row in 0..<rows {
        for column in 0..<width {
          var sum = 0.0
          for k in 0..<depth {
            let right = transposed ? column * depth + k : k * width + column
            sum +=
              Double(a.numbers[(batch * rows + row) * depth + k])
              * Double(b.numbers[batch * depth * width + right])
          }
          result[(batch * rows + row) * width + column] = Float(sum)
        }
      }
    }
    return result
  }

  static func conv2D(
    _ x: ReferenceTensor,
    _ w: ReferenceTensor,
    _ stride: Int,
    _ padding: Int,
    to shape: Shape
  ) -> [Float] {
    let (height, width, channels) = (x.shape[0], x.shape[1], x.shape[2])
    let (kernelRows, kernelColumns) = (w.shape[2], w.shape[3])
    var result: [Float] = []
    result.reserveCapacity(shape.elementCount)
    for row in 0..<shape[0] {
      for column in 0..<shape[1] {
        for output in 0..<shape[2] {
          var sum = 0.0
          for i in 0..<kernelRows {
            for j in 0..<kernelColumns {
              let (r, c) = (row * stride + i - padding, column * stride + j - padding)
              guard r >= 0, r < height, c >= 0, c < width else { continue }
              for channel in 0..<channels {
                let weight = ((output * channels + channel) * kernelRows + i) * kernelColumns + j
                sum +=
                  Double(x.numbers[(r * width + c) * channels + channel])
                  * Double(w.numbers[weight])
              }
            }
          }
          result.append(Float(sum))
        }
      }
    }
    return result
  }

  static func depthwise(_ x: ReferenceTensor, _ w: ReferenceTensor) -> [Float] {
    let (channels, taps) = (x.width, w.width)
    return (0..<x.shape.elementCount).map { index in
      let (row, channel) = (index / channels, index % channels)
      var sum = 0.0
      for tap in 0..<taps where row - taps + 1 + tap >= 0 {
        sum +=
          Double(x.numbers[(row - taps + 1 + tap) * channels + channel])
          * Double(w.numbers[channel * taps + tap])
      }
      return Float(sum)
    }
  }
}
