/// Names for content that is not what was asked for.
enum ContentNames {
  /// What `bytes` look like to a reader of error messages.
  static func describe(_ bytes: [UInt8]) -> String {
    let head = bytes.prefix(512)
    func starts(_ text: String) -> Bool { head.starts(with: text.utf8) }
    if starts("%PDF") { return "a PDF document" }
    if starts("OggS") { return "an Ogg file" }
    if let format = ImageFormat(signatureOf: bytes) { return "\(format.rawValue) image data" }
    if starts("RIFF") { return "a RIFF file (audio or video)" }
    if starts("fLaC") { return "a FLAC file" }
    if head.count >= 8 && head[4..<8].elementsEqual("ftyp".utf8) { return "an MP4 file" }
    if head.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) { return "a Matroska or WebM file" }
    if head.starts(with: [0x00, 0x00, 0x00, 0x0C, 0x6A, 0x50]) { return "a JPEG 2000 file" }
    let isText = head.allSatisfy { $0 >= 32 && $0 != 127 || (9...13).contains($0) }
    guard isText else { return "unknown binary data" }
    let text = String(decoding: head, as: UTF8.self)
    return text.contains("<svg") ? "an SVG drawing" : "text"
  }
}
