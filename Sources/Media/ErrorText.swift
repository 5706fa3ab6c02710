/// Room for the one-line reason that a C function writes when it fails.
struct ErrorText {
  static let capacity = 256

  private var buffer = [CChar](repeating: 0, count: capacity)

  /// Calls `body` with the room.
  mutating func with<Result>(_ body: (UnsafeMutablePointer<CChar>) -> Result) -> Result {
    buffer.withUnsafeMutableBufferPointer { room in
      guard let start = room.baseAddress else { preconditionFailure("the room is not empty") }
      return body(start)
    }
  }

  /// What was written, on one line.
  var text: String {
    let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    let text = String(decoding: bytes.map { $0 < 32 ? 32 : $0 }, as: UTF8.self)
    return text.isEmpty ? "it cannot be decoded" : text
  }
}
