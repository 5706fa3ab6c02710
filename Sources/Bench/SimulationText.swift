import Graph
import Models
import Troika

/// A simulated request as text for people.
enum SimulationText {
  static func lines(_ simulation: Simulation) -> [String] {
    let batches = simulation.batches.map { "\($0[0])/\($0[1])" }.joined(separator: " ")
    var lines = PlanText.wrapped("placement     ", "\(simulation.placement)", separator: ",")
    lines += [
      "device        \(simulation.device)",
      "prompt        \(simulation.promptTokens) tokens, \(simulation.generatedTokens) generated",
    ]
    lines += PlanText.wrapped(
      "batches       ",
      "\(batches) (real/compiled tokens), sharedLayers \(simulation.sharedLayers.rawValue)"
        + (simulation.cutsAtMedia ? ", cut before media" : "")
    )
    lines += ["", "program               unit          launches     each ms      low     high"]
    for launch in simulation.launches {
      let each = launch.nanoseconds
      lines.append(
        TimelineText.pad(launch.program, 22) + TimelineText.pad(launch.unit.name, 14)
          + TimelineText.left("\(launch.count)", 8)
          + TimelineText.left(milliseconds(each.value), 12)
          + TimelineText.left(milliseconds(each.low), 9)
          + TimelineText.left(milliseconds(each.high), 9)
      )
    }
    return lines + [""] + totals(simulation)
  }

  private static func totals(_ simulation: Simulation) -> [String] {
    let first = simulation.firstToken
    let bound = simulation.bound
    var lines = [
      "first token   \(milliseconds(first.value)) ms (\(milliseconds(first.low)) to "
        + "\(milliseconds(first.high)))",
      "overlap       \(milliseconds(Double(simulation.serialNanoseconds))) ms one after another; no "
        + "schedule beats \(milliseconds(Double(bound.nanoseconds))) ms",
    ]
    if simulation.step.value > 0 {
      let rate = simulation.tokensPerSecond
      lines.append(
        "decode        \(milliseconds(simulation.step.value)) ms a token, "
          + "\(Format.fixed(rate.value, 1)) tokens/s (\(Format.fixed(rate.low, 1)) to "
          + "\(Format.fixed(rate.high, 1)))"
      )
    }
    if let joules = simulation.joules {
      lines.append(
        "energy        \(Format.fixed(joules.value, 2)) J (\(Format.fixed(joules.low, 2)) to "
          + "\(Format.fixed(joules.high, 2)))"
      )
    }
    lines.append("memory        at most \(simulation.peakByteCount >> 20) MiB")
    if simulation.coldNanoseconds > 0 {
      let seconds = Format.fixed(Double(simulation.coldNanoseconds) / 1e9, 1)
      lines.append("first time    \(seconds) s more to load and compile")
    }
    lines += AssumptionText.lines([simulation])
    let timeline = simulation.timeline
    for unit in timeline.units where timeline.busyNanoseconds(of: unit) > 0 {
      lines.append(
        TimelineText.pad(unit.name, 14)
          + "busy \(milliseconds(Double(timeline.busyNanoseconds(of: unit)))) of "
          + "\(milliseconds(Double(timeline.makespanNanoseconds))) ms"
      )
    }
    return lines
  }

  /// Every event, one a line.
  static func timeline(_ simulation: Simulation) -> [String] {
    ["", "    start ms      end ms  unit          program"]
      + simulation.timeline.events.prefix(200).map { event in
        TimelineText.left(milliseconds(Double(event.startNanoseconds)), 12)
          + TimelineText.left(milliseconds(Double(event.endNanoseconds)), 12) + "  "
          + TimelineText.pad(event.unit.name, 14) + event.program
      }
  }

  static func milliseconds(_ nanoseconds: Double) -> String { Format.fixed(nanoseconds / 1e6, 2) }
}
