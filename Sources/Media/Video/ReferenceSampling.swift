/// The reference processor's choice of frames.
public enum ReferenceSampling {
  /// `floor(i N / n)` for i below `n = min(count, N)`, at least one.
  public static func indices(total: Int, count: Int) -> [Int] {
    let chosen = max(1, min(count, total))
    return (0..<chosen).map { $0 * total / chosen }
  }
}
