import CCrypto

/// The SHA-256 digest of bytes (FIPS 180-4), by OpenSSL.
public enum SHA256 {
  /// OpenSSL without its clean-up at exit, which frees what threads that are still ending free too.
  private static let isReady = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1

  /// Bytes that are digested between two calls of `progress`.
  private static let sliceByteCount = 16 << 20

  /// The digest as 64 lower-case hexadecimal digits.
  ///
  /// - Parameters:
  ///   - bytes: what is digested.
  ///   - progress: called after each 16 MiB.
  /// - Returns: the digits.
  /// - Throws: what `progress` throws.
  public static func hex<Failure: Error>(
    _ bytes: UnsafeRawBufferPointer,
    progress: () throws(Failure) -> Void
  ) throws(Failure) -> String {
    precondition(isReady, "OpenSSL is not available")
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    var isMade = EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1
    var start = 0
    while start < bytes.count {
      let count = min(sliceByteCount, bytes.count - start)
      let slice = UnsafeRawBufferPointer(rebasing: bytes[start..<start + count])
      isMade = EVP_DigestUpdate(context, slice.baseAddress, count) == 1 && isMade
      start += count
      try progress()
    }
    var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    isMade = EVP_DigestFinal_ex(context, &digest, &count) == 1 && isMade
    precondition(isMade, "SHA-256 is not available")
    return digest.prefix(Int(count)).map { byte in
      let digits = String(byte, radix: 16)
      return digits.count == 1 ? "0" + digits : digits
    }.joined()
  }

  /// The digest as 64 lower-case hexadecimal digits.
  public static func hex(_ bytes: UnsafeRawBufferPointer) -> String { hex(bytes) {} }

  /// The digest of an array of bytes.
  public static func hex(_ bytes: [UInt8]) -> String { bytes.withUnsafeBytes { hex($0) } }
}
