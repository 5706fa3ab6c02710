import Graph

extension GPUSelfTest {
  mutating func addElementwise() throws {
    let functions: [Op] =
      Unary.allCases.map { .unary($0) } + [
        .affine(scale: 1.5, offset: -0.25), .clamp(lower: -0.5, upper: 0.75), .softcap(3),
      ]
    for op in functions { try add(op) { [try $0.numbers([5, 20])] } }
    for kind in Binary.allCases {
      try add(.binary(kind)) { [try $0.numbers([5, 20]), try $0.weight(.f32, [20])] }
    }
    try add(.binary(.add), "add of a column") {
      [try $0.numbers([5, 20]), try $0.numbers([5, 1])]
    }
    try add(.binary(.subtract), "subtract of both broadcast") {
      [try $0.numbers([5, 1]), try $0.numbers([1, 19])]
    }
    try add(.gatedGelu) { [try $0.numbers([5, 19]), try $0.numbers([5, 19])] }
  }

  mutating func addRows() throws {
    for width in [21, 256] {
      try add(.rmsNorm(epsilon: 1e-6)) {
        [try $0.numbers([6, width]), try $0.weight(.bf16, [width])]
      }
      try add(.layerNorm(epsilon: 1e-6)) {
        [try $0.numbers([6, width]), try $0.weight(.f32, [width])]
      }
      try add(.softmax) { [try $0.numbers([6, width])] }
    }
    for (kind, axis) in [(Reduction.mean, 1), (.sum, 0), (.maximum, 2)] {
      try add(.reduce(kind, axis: axis)) { [try $0.numbers([4, 9, 12])] }
    }
    try add(.conv2D(stride: 2, padding: 1)) {
      [try $0.numbers([11, 8, 3]), try $0.weight(.f32, [8, 3, 3, 3])]
    }
    try add(.causalDepthwiseConv) {
      [try $0.numbers([9, 8]), try $0.weight(.bf16, [8, 1, 5])]
    }
  }

  mutating func addProducts() throws {
    for format in DType.allCases where format.isFloat {
      for rows in [1, 7, 30] {
        try add(.linear, "linear over \(format.rawValue), \(rows) rows") {
          [try $0.numbers([rows, 96]), try $0.weight(format, [128, 96])]
        }
      }
    }
    try add(.linear, "linear with a bias") {
      [try $0.numbers([6, 21]), try $0.weight(.f32, [10, 21]), try $0.weight(.f32, [10])]
    }
    try add(.linear, "linear of many rows with a bias") {
      [try $0.numbers([70, 100]), try $0.weight(.f16, [75, 100]), try $0.weight(.f32, [75])]
    }
    for isTransposed in [true, false] {
      try add(.matmul(transposeRight: isTransposed)) {
        [
          try $0.numbers([2, 26, 20]),
          try $0.numbers(isTransposed ? [2, 36, 20] : [2, 20, 36]),
        ]
      }
    }
  }

  mutating func addAttention() throws {
    try add(.rotaryTable) {
      [try $0.integers([0, 1, 77, 4000], [4, 1]), $0.literal([1, 0.3, 0.01, 0])]
    }
    try add(.rotate(axes: 2)) { [try $0.numbers([6, 2, 16]), try $0.numbers([6, 16])] }
    try add(.attention(scale: 0.5)) {
      [
        try $0.numbers([30, 4, 16]), try $0.numbers([30, 2, 16]), try $0.numbers([30, 2, 16]),
        try $0.integers([23], [1]),
      ]
    }
    try add(.attention(scale: 0.2), "attention of 64 columns") {
      [
        try $0.numbers([90, 2, 64]), try $0.numbers([90, 2, 64]), try $0.numbers([90, 2, 64]),
        try $0.integers([77], [1]),
      ]
    }
    for (tokens, position) in [(1, 9), (9, 21)] {
      try add(.cachedAttention(scale: 0.5, window: 12)) {
        [
          try $0.numbers([tokens, 4, 16]), try $0.numbers([16, 2, 16]),
          try $0.numbers([16, 2, 16]), try $0.numbers([tokens, 2, 16]),
          try $0.numbers([tokens, 2, 16]), try $0.integers([Int32(position)], [1]),
          try $0.integers([Int32(position)], [1]),
          try $0.integers((0..<tokens).map { $0 > 2 && $0 < 6 ? 1 : 0 }, [tokens]),
        ]
      }
    }
    try add(.bandedAttention(window: 5, softcap: 50)) {
      [
        try $0.numbers([20, 2, 16]), try $0.numbers([20, 2, 16]), try $0.numbers([20, 2, 16]),
        try $0.numbers([6, 2, 16]), try $0.integers([17], [1]),
      ]
    }
    try add(.attentionMask(queries: 3, past: 8, new: 3, window: 6)) {
      [try $0.integers([9], [1]), try $0.integers([9], [1])]
    }
    try add(.countMask(rows: 9)) { [try $0.integers([5], [1])] }
    try add(.cacheUpdate) {
      [
        try $0.numbers([4, 1, 8]), try $0.numbers([3, 1, 8]), try $0.integers([3], [1]),
        try $0.integers([2], [1]),
      ]
    }
    try add(.cacheUpdate, "cache update of more rows than the ring has") {
      [
        try $0.numbers([4, 1, 8]), try $0.numbers([30, 1, 8]), try $0.integers([3], [1]),
        try $0.integers([27], [1]),
      ]
    }
  }

  mutating func addMovement() throws {
    for format in DType.allCases where format.isFloat {
      try add(.gather, "gather from \(format.rawValue)") {
        [try $0.weight(format, [40, 32]), try $0.integers([3, -1, 33, 40, 0], [5])]
      }
    }
    try add(.transpose([2, 0, 1])) { [try $0.numbers([3, 4, 5])] }
    try add(.slice(axis: 1, start: 3, count: 5)) { [try $0.numbers([4, 10])] }
    try add(.concat(axis: 1)) { [try $0.numbers([4, 8]), try $0.numbers([4, 3])] }
    try add(.pad(axis: 0, before: 2, after: 1)) { [try $0.numbers([3, 4])] }
    try add(.reshape([2, 6])) { [try $0.numbers([3, 4])] }
  }
}
