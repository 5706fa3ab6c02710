import Graph

/// A program's time as it was measured on one unit.
struct MeasuredProgram {
  let unit: UnitID
  let work: PlannedWork
  let fill: LaunchFill
  /// Nanoseconds of each call, launches and waits included.
  var samples: [Double]

  /// Half of the calls took less.
  var median: Double { SampleSummary(samples).median }
}

/// Fits a unit's figures to measured programs: times are sums of amounts over rates.
struct HostFit {
  /// One figure that is fitted, with what a unit of it is.
  private enum Term {
    case figure(UnitFigure)
    case product(DType?, rows: Int)
  }

  let unit: UnitID
  let programs: [MeasuredProgram]
  /// Units that run parts of the programs and are known already.
  let known: [UnitID: DeviceProfile.Unit]
  let processors: Int
  let hasFixedShapes: Bool

  /// The unit's figures, with ranges as wide as the fit's own errors.
  func fitted() -> DeviceProfile.Unit {
    let terms = self.terms
    let amounts = programs.map { program in terms.map { amount($0, program) } }
    let sums = programs.map { max($0.median - elsewhere($0), $0.median * 0.05) }
    let fit = LinearFit(amounts: amounts, sums: sums, priors: terms.map(prior))
    let values = fit.coefficients()
    var result = blank
    let errors = zip(amounts, sums).map { row, sum in
      abs(zip(row, values).reduce(0) { $0 + $1.0 * $1.1 } / sum - 1)
    }
    for (index, term) in terms.enumerated() {
      // The spread of the sums that the term matters to.
      let own = errors.indices.filter { amounts[$0][index] * values[index] > sums[$0] * 0.3 }
      let spread = max(0.01, SampleSummary(own.map { errors[$0] }).median)
      set(term, values[index], spread: spread, samples: own.count, in: &result)
    }
    return result
  }

  private var blank: DeviceProfile.Unit {
    var unit = DeviceProfile.Unit()
    unit.processors = processors
    unit.hasFixedShapes = hasFixedShapes
    return unit
  }

  private var terms: [Term] {
    var products: [Term] = []
    var seen: Set<String> = []
    for run in programs.flatMap(\.work.runs) where run.unit == unit {
      for product in run.work.products {
        let key = "\(product.weights?.rawValue ?? "-") \(product.rows)"
        guard seen.insert(key).inserted else { continue }
        products.append(.product(product.weights, rows: product.rows))
      }
    }
    return [
      .figure(.launchNanoseconds), .figure(.dispatchNanoseconds), .figure(.valueBytesPerSecond),
      .figure(.attentionFlopsPerSecond), .figure(.rowAttentionFlopsPerSecond),
      .figure(.convolutionFlopsPerSecond),
    ] + products
  }

  /// Nanoseconds, or nanoseconds for a flop or byte.
  private func prior(_ term: Term) -> Double {
    switch term {
    case .figure(.launchNanoseconds): 2e4
    case .figure(.dispatchNanoseconds): 1e3
    case .figure(.valueBytesPerSecond): 1 / 10.0
    case .figure(.rowAttentionFlopsPerSecond): 1 / 5.0
    case .figure: 1 / 30.0
    case .product(_, let rows): rows == 1 ? 1 / 20.0 : 1 / 60.0
    }
  }

  /// How much of a term a program has on the unit: its time were everything else free.
  private func amount(_ term: Term, _ program: MeasuredProgram) -> Double {
    if case .product(let format, let rows) = term {
      return program.work.runs.reduce(0) { sum, run in
        let own = run.work.products.filter { $0.weights == format && $0.rows == rows }
        return run.unit == unit ? sum + own.reduce(0) { $0 + Double($1.flops) } : sum
      }
    }
    var only = blank
    // A rate of 1e9 a second makes nanoseconds of flops and bytes.
    set(term, 1, spread: 0, samples: 0, in: &only)
    return program.work.runs.reduce(0) { sum, run in
      guard run.unit == unit else { return sum }
      return sum + only.cost(run.work, fill: program.fill).nanoseconds
    }
  }

  /// What other units take of a program.
  private func elsewhere(_ program: MeasuredProgram) -> Double {
    program.work.runs.reduce(0) { sum, run in
      guard run.unit != unit, let other = known[run.unit] else { return sum }
      return sum + other.cost(run.work, fill: program.fill).nanoseconds
    }
  }

  private func set(
    _ term: Term,
    _ value: Double,
    spread: Double,
    samples: Int,
    in unit: inout DeviceProfile.Unit
  ) {
    let source = "fitted to \(samples) programs timed on this machine"
    func figure(_ value: Double) -> Figure {
      Figure(
        value,
        low: value * (1 - min(spread, 0.9)),
        high: value * (1 + spread),
        .measured,
        source: source
      )
    }
    switch term {
    case .figure(let name) where name.isTime: unit.figures[name] = figure(value)
    case .figure(let name):
      if value > 0 { unit.figures[name] = figure(1e9 / value) }
    case .product(let format, let rows):
      // A term that the fit found free would be no limit at all, which is what no entry means for
      // figures; products fall back on their neighbours.
      let rate = value > 0 ? 1e9 / value : 1e15
      unit.products.append(
        .init(weights: format, rows: rows, flopsPerSecond: figure(rate))
      )
    }
  }
}

extension UnitFigure {
  /// Whether it is a time and no rate.
  fileprivate var isTime: Bool { rawValue.hasSuffix("Nanoseconds") }
}
