import CGPU
import Graph

extension GPULowering {
  mutating func rows(_ node: Node) throws {
    let width = node.type.shape.last
    let count = node.type.shape.rowCount
    let isWide = width % 4 == 0
    let format = isWide ? TG_RGBA32F : TG_R32F
    let operation: UInt32
    var epsilon: Float = 0
    switch node.op {
    case .rmsNorm(let value): (operation, epsilon) = (0, value)
    case .layerNorm(let value): (operation, epsilon) = (1, value)
    default: operation = 2
    }
    let source = try range(of: node.inputs[0])
    let weight = node.inputs.count > 1 ? try range(of: node.inputs[1]) : nil
    let target = result(node)
    let clamp = takeClamp(of: node, at: target)
    let other = clamp == nil ? try takeSum(of: node, at: target) : nil
    emit(
      .rows,
      [
        UInt32(context.rowLanes), 1, isWide ? 1 : 0, context.family == .texels ? 1 : 2, operation,
        weight == nil ? 0 : 1, clamp == nil ? 0 : 1, other == nil ? 0 : 1,
      ],
      [
        .texels(source, format), .texels(weight ?? source, format), .storage(target),
        .texels(other ?? source, format),
      ],
      push: [
        UInt32(count), UInt32(isWide ? width / 4 : width), epsilon.bitPattern,
        (clamp?.lower ?? 0).bitPattern, (clamp?.upper ?? 0).bitPattern,
      ],
      groups: Self.grid(count),
      work: count * width * 16
    )
  }

  mutating func reduce(_ node: Node, _ kind: Reduction, _ axis: Int) throws {
    let shape = graph.nodes[node.inputs[0]].type.shape
    let inner = shape.extents[(axis + 1)...].reduce(1, *)
    let isWide = inner % 4 == 0
    let count = node.type.shape.elementCount / (isWide ? 4 : 1)
    let operation: UInt32 =
      switch kind {
      case .sum: 0
      case .mean: 1
      case .maximum: 2
      }
    emit(
      .reduce,
      [UInt32(lanes), 1, isWide ? 1 : 0, operation],
      [
        .texels(try range(of: node.inputs[0]), isWide ? TG_RGBA32F : TG_R32F),
        .storage(result(node)),
      ],
      push: [UInt32(count), UInt32(shape[axis]), UInt32(isWide ? inner / 4 : inner)],
      groups: texelGrid(count),
      work: shape.elementCount * 4
    )
  }

  mutating func rotaryTable(_ node: Node) throws {
    let count = node.type.shape.elementCount
    emit(
      .rotary,
      [UInt32(lanes), 1, 0],
      [
        .texels(try range(of: node.inputs[0]), TG_R32I),
        .texels(try range(of: node.inputs[1]), TG_R32F), .storage(result(node)),
      ],
      push: [UInt32(count), UInt32(graph.nodes[node.inputs[1]].type.shape[0])],
      groups: texelGrid(count),
      work: count * 40
    )
  }

  mutating func rotate(_ node: Node, _ axes: Int) throws {
    let shape = node.type.shape
    let half = shape.last / axes / 2
    let isWide = half % 4 == 0
    let format = isWide ? TG_RGBA32F : TG_R32F
    let unit = isWide ? 4 : 1
    let count = shape.elementCount / 2 / unit
    emit(
      .rotate,
      [UInt32(lanes), 1, isWide ? 1 : 0],
      [
        .texels(try range(of: node.inputs[0]), format),
        .texels(try range(of: node.inputs[1]), format), .storage(result(node)),
      ],
      push: [
        UInt32(count), UInt32(shape[1]), UInt32(shape.last / unit), UInt32(half / unit),
      ],
      groups: texelGrid(count),
      work: shape.elementCount * 8
    )
  }

  mutating func convolution(_ node: Node, _ stride: Int, _ padding: Int) throws {
    let input = graph.nodes[node.inputs[0]].type.shape
    let weight = graph.nodes[node.inputs[1]].type.shape
    guard graph.isConstant(node.inputs[1]) else {
      throw declined(node, "weights of convolutions have to be constants")
    }
    // [O, C, kh, kw] becomes [kh, kw, C, O], so that lanes read outputs side by side.
    let (outputs, channels, area) = (weight[0], weight[1], weight[2] * weight[3])
    let numbers = try constant(node.inputs[1]).numbers
    var turned = [Float](repeating: 0, count: numbers.count)
    for index in numbers.indices {
      let (output, channel, tap) =
        (index / (channels * area), index / area % channels, index % area)
      turned[(tap * channels + channel) * outputs + output] = ElementCoding.rounded(
        numbers[index],
        to: .f16
      )
    }
    let isWide = outputs % 4 == 0
    let unit = isWide ? 4 : 1
    let count = node.type.shape.elementCount / unit
    emit(
      .convolution,
      [UInt32(lanes), 1, isWide ? 1 : 0, 0],
      [
        .texels(try range(of: node.inputs[0]), TG_R32F),
        .texels(try constant(turned), isWide ? TG_RGBA32F : TG_R32F), .storage(result(node)),
      ],
      push: [
        UInt32(count), UInt32(input[0]), UInt32(input[1]), UInt32(channels),
        UInt32(node.type.shape[1]), UInt32(outputs / unit), UInt32(weight[2]), UInt32(weight[3]),
        UInt32(stride), UInt32(padding),
      ],
      groups: texelGrid(count),
      work: node.type.shape.elementCount * channels * area * 2
    )
  }

  mutating func depthwise(_ node: Node) throws {
    let shape = node.type.shape
    let taps = graph.nodes[node.inputs[1]].type.shape[2]
    guard graph.isConstant(node.inputs[1]) else {
      throw declined(node, "weights of convolutions have to be constants")
    }
    let numbers = try constant(node.inputs[1]).numbers
    let turned = (0..<numbers.count).map { index in
      ElementCoding.rounded(numbers[index % shape[1] * taps + index / shape[1]], to: .f16)
    }
    let isWide = shape[1] % 4 == 0
    let format = isWide ? TG_RGBA32F : TG_R32F
    let channels = isWide ? shape[1] / 4 : shape[1]
    emit(
      .convolution,
      [UInt32(lanes), 1, isWide ? 1 : 0, 1],
      [
        .texels(try range(of: node.inputs[0]), format), .texels(try constant(turned), format),
        .storage(result(node)),
      ],
      push: [
        UInt32(shape[0] * channels), UInt32(shape[0]), 1, UInt32(channels), 1, UInt32(channels), 1,
        UInt32(taps), 1, 0,
      ],
      groups: texelGrid(shape[0] * channels),
      work: shape.elementCount * taps * 2
    )
  }
}
