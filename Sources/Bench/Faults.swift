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
    case is SamplingError, is EngineOptionError: .usage
    default: .input
    }
  }

  private static func code(of error: DeviceError) -> ExitCode {
    switch error {
    case .unavailable: .unavailable
    case .outOfMemory, .binding, .launch: .fault
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
