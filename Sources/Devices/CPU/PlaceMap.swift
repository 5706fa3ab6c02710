/// Where the nodes of a program lie, by what moves between launches.
struct PlaceMap: @unchecked Sendable {
  private typealias Offset = (node: Int, byteOffset: Int)

  /// Constants, which never move; nil for all else.
  private var fixed: [UnsafeMutableRawPointer?]
  private var inArena: [Offset] = []
  private var bound: [(name: String, offsets: [Offset])] = []

  /// - Parameters:
  ///   - places: for each node where its value begins.
  ///   - offsets: bytes from there to its first element.
  init(_ places: [Place?], _ offsets: [Int]) {
    fixed = Array(repeating: nil, count: places.count)
    var byName: [String: [Offset]] = [:]
    for (node, place) in places.enumerated() {
      switch place {
      case .arena(let start): inArena.append((node, start + offsets[node]))
      case .bound(let name): byName[name, default: []].append((node, offsets[node]))
      case .constant(let pointer): fixed[node] = pointer + offsets[node]
      case nil: break
      }
    }
    bound = byName.map { ($0.key, $0.value) }
  }

  /// The first element of each node in one launch; nil for what has no place in it.
  func pointers(
    _ arena: UnsafeMutableRawPointer,
    _ bindings: [String: Value]
  ) -> [UnsafeMutableRawPointer?] {
    var pointers = fixed
    for place in inArena { pointers[place.node] = arena + place.byteOffset }
    for value in bound {
      guard let start = bindings[value.name]?.pointer else { continue }
      for place in value.offsets { pointers[place.node] = start + place.byteOffset }
    }
    return pointers
  }
}
