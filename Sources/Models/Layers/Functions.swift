import Foundation

/// `base` to the power of `exponent`.
func exponential(_ base: Double, _ exponent: Double) -> Double { pow(base, exponent) }

/// `e` to the power of `exponent`.
func naturalExponential(_ exponent: Double) -> Double { exp(exponent) }

/// Natural logarithm.
func logarithm(_ value: Double) -> Double { log(value) }

/// Sine of an angle in radians.
func sine(_ angle: Double) -> Double { sin(angle) }

/// Cosine of an angle in radians.
func cosine(_ angle: Double) -> Double { cos(angle) }
