import CGPU
import Graph

/// The shaders by the names of their files and variants.
enum GPUShader: String, Hashable, Sendable {
  case elementwise, broadcast, rows, reduce, move, gather, rotary, rotate
  case scores, attention, banded, cache, halves, mask, convolution
  case productHalf = "product_nt_half"
  case productByteBlock = "product_nt_byte_block"
  case productByteRow = "product_nt_byte_row"
  case productNibbleBlock = "product_nt_nibble_block"
  case productNibbleTable = "product_nt_nibble_table"
  case productTransposed = "product_nt_single"
  case productPlain = "product_nn"
  case tiledHalf = "product_tiles_half"
  case tiledByteBlock = "product_tiles_byte_block"
  case tiledByteRow = "product_tiles_byte_row"
  case tiledNibbleBlock = "product_tiles_nibble_block"
  case tiledNibbleTable = "product_tiles_nibble_table"
  case tiledTransposed = "product_tiles_single"
  case tiledPlain = "product_tiles_plain"
  case matrixHalf = "product_matrix_half"

  /// The same product for devices with shared memory of their own; nil for other shaders.
  var tiled: GPUShader? {
    switch self {
    case .productHalf: .tiledHalf
    case .productByteBlock: .tiledByteBlock
    case .productByteRow: .tiledByteRow
    case .productNibbleBlock: .tiledNibbleBlock
    case .productNibbleTable: .tiledNibbleTable
    case .productTransposed: .tiledTransposed
    case .productPlain: .tiledPlain
    default: nil
    }
  }

  /// Whether this is a matrix product.
  var isProduct: Bool { rawValue.hasPrefix("product_") }

  /// What each binding is: 0 texels, 1 storage.
  var kinds: [UInt8] {
    switch self {
    case .elementwise, .broadcast, .gather, .rotary, .rotate, .convolution: [0, 0, 1]
    case .rows: [0, 0, 1, 0]
    case .reduce, .move, .halves: [0, 1]
    case .scores: [0, 1, 0, 0, 0, 1]
    case .attention: [0, 0, 0, 0, 1]
    case .banded: [0, 0, 0, 0, 0, 1]
    case .cache: [0, 1, 0, 0]
    case .mask: [0, 0, 0, 1]
    case .productHalf, .productByteBlock, .productByteRow, .productNibbleBlock,
      .productNibbleTable, .matrixHalf, .tiledHalf, .tiledByteBlock, .tiledByteRow,
      .tiledNibbleBlock,
      .tiledNibbleTable:
      [0, 0, 1, 0, 0, 0]
    case .productTransposed, .tiledTransposed: [0, 0, 1, 0]
    case .productPlain, .tiledPlain: [0, 0, 1, 0, 0]
    }
  }
}

/// Where a value lies while a program runs.
enum GPUPlace: Hashable {
  /// In the arena, by the number of its slot.
  case slot(Int)
  /// In memory that lives as long as the program, by its number.
  case constant(Int)
  /// In the value bound by this name, used where it lies.
  case state(String)
}

/// Part of a place.
struct GPURange: Hashable {
  let place: GPUPlace
  var byteOffset = 0
  var byteCount: Int
}

/// One descriptor of a dispatch.
struct GPUOperand {
  let range: GPURange
  /// The format of texels; nil where the shader stores.
  let format: tg_format?
  let isRead: Bool
  let isWritten: Bool

  /// Texels that are read.
  static func texels(_ range: GPURange, _ format: tg_format) -> GPUOperand {
    GPUOperand(range: range, format: format, isRead: true, isWritten: false)
  }

  /// Storage that is written.
  static func storage(_ range: GPURange) -> GPUOperand {
    GPUOperand(range: range, format: nil, isRead: false, isWritten: true)
  }
}

/// One launch of a shader.
struct GPUDispatch {
  let pipeline: GPUPipeline
  let operands: [GPUOperand]
  let push: [UInt32]
  let groups: (x: Int, y: Int, z: Int)
  /// Floating-point operations and bytes, for the watchdog and for cutting command buffers.
  let work: Int
}

/// Memory that a program needs in the arena.
struct GPUSlot {
  let byteCount: Int
  /// Lives through the whole launch: an input before its first reader, or an output.
  var isInput = false
  var isOutput = false
}

/// A segment as dispatches over placed values.
struct GPUProgram {
  /// How an input comes into its slot.
  struct Input {
    let name: String
    let slot: Int
    let byteCount: Int
  }

  /// Rows of a table that the processor takes while inputs are uploaded.
  struct HostGather {
    let table: UnsafeRawPointer
    let type: TensorType
    let ids: String
    let count: Int
    let slot: Int
  }

  /// How a result leaves its slot.
  struct Output {
    let name: String
    let range: GPURange
  }

  let graph: Graph
  var slots: [GPUSlot] = []
  var constants: [GPUBuffer] = []
  var dispatches: [GPUDispatch] = []
  var inputs: [Input] = []
  var gathers: [HostGather] = []
  var outputs: [Output] = []
  /// Values used where they lie, and those of them that are written.
  var states: [String] = []
  var writtenStates: Set<String> = []
}
