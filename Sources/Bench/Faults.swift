import Devices
import Graph
import Media
import Models
import Troika

/// Which exit code an error means.
enum Faults {
  static func code(of error: any Error) -> ExitCode {
    switch error {
    case is UsageError: .usage
    case let error as DeviceError: code(of: error)
    case let error as TroikaError: code(of: error)
    case BundleError.cancelled: .interrupted
    case is SamplingError, is EngineOptionError, is FaultPlanError: .usage
    default: .input
    }
  }

  private static func code(of error: DeviceError) -> ExitCode {
    switch error {
    case .unavailable, .lost: .unavailable
    // NaN on a unit that computes in f32 is the model's.
    case .notANumber(let unit, _, _) where [UnitID.cpu, .reference].contains(UnitID(unit)): .input
    case .outOfMemory, .binding, .launch, .compilation, .timedOut, .notANumber: .fault
    case .declined: .input
    }
  }

  private static func code(of error: TroikaError) -> ExitCode {
    switch error {
    case .option: .usage
    case .lacksTower, .promptTooLong, .emptyPrompt, .notANumber: .input
    }
  }
}
