/// For which positions of a prompt the layers run that own no keys and values.
public enum SharedLayers: String, Hashable, Sendable, CaseIterable {
  /// Those whose logits are wanted.
  case last
  /// All of them, in every prefill program.
  case all
}
