import CCrypto

/// The SHA-256 digest of bytes (FIPS 180-4), by OpenSSL.
public enum SHA256 {
  /// OpenSSL without its clean-up at exit, which frees what threads that are still ending free too.
  private static let isReady = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1

  /// The digest as 64 lower-case hexadecimal digits.
  public static func hex(_ bytes: UnsafeRawBufferPointer) -> String {
    precondition(isReady, "OpenSSL is not available")
    var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    let made = EVP_Digest(bytes.baseAddress, bytes.count, &digest, &count, EVP_sha256(), nil)
    precondition(made == 1, "SHA-256 is not available")
    return digest.prefix(Int(count)).map { byte in
      let digits = String(byte, radix: 16)
      return digits.count == 1 ? "0" + digits : digits
    }.joined()
  }

  /// The digest of an array of bytes.
  public static func hex(_ bytes: [UInt8]) -> String { bytes.withUnsafeBytes { hex($0) } }
}
