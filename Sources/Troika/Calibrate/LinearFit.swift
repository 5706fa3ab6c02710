/// Coefficients that are not below zero and reproduce sums best, by relative squared error.
///
/// Each coefficient is drawn towards a prior by a small weight, so that those that no sum says anything
/// about stay there.
struct LinearFit {
  /// Amounts of each term in each sum.
  let amounts: [[Double]]
  /// The sums, above 0.
  let sums: [Double]
  /// Where coefficients start.
  let priors: [Double]
  /// How heavily a relative distance from the prior counts beside a relative error of one sum.
  var weight = 1e-3

  /// The coefficients.
  ///
  /// Coordinate descent over the normal equations, each coordinate clipped at zero.
  ///
  /// - Complexity: linear in sums times terms squared, and in rounds times terms squared.
  func coefficients() -> [Double] {
    let count = priors.count
    // Terms are scaled by their priors, sums by themselves.
    let rows = zip(amounts, sums).map { row, sum in
      row.indices.map { row[$0] * scale($0) / sum }
    }
    var gram = [[Double]](repeating: [Double](repeating: 0, count: count), count: count)
    var target = [Double](repeating: 0, count: count)
    for row in rows {
      for left in 0..<count where row[left] != 0 {
        target[left] += row[left]
        for right in 0..<count { gram[left][right] += row[left] * row[right] }
      }
    }
    var values = priors.indices.map { priors[$0] / scale($0) }
    for index in 0..<count {
      gram[index][index] += weight
      target[index] += weight * values[index]
    }
    for _ in 0..<20_000 {
      var moved = 0.0
      for index in 0..<count where gram[index][index] > 0 {
        var rest = target[index]
        for other in 0..<count where other != index { rest -= gram[index][other] * values[other] }
        let value = max(0, rest / gram[index][index])
        moved = max(moved, abs(value - values[index]))
        values[index] = value
      }
      if moved < 1e-9 { break }
    }
    return values.indices.map { values[$0] * scale($0) }
  }

  private func scale(_ index: Int) -> Double { priors[index] > 0 ? priors[index] : 1 }
}
