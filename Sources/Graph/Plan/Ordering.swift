extension Graph {
  /// Operations in an order in which they can run and that changes units as seldom as it can.
  ///
  /// Greedy: stay on a unit while anything there is ready; of the possible first units the one that
  /// needs fewest changes is taken. An operation that makes the next value of a state runs after
  /// everything that reads the old one.
  ///
  /// - Complexity: linear in nodes and edges for each unit tried.
  func ordered(placing units: [UnitID?]) -> [Node] {
    let candidates = Set(units.compactMap { $0 })
    let orders = candidates.sorted { $0.name < $1.name }.map { order(startingOn: $0, units) }
    let best = orders.min { left, right in
      Self.changes(left, units) < Self.changes(right, units)
    }
    return best ?? []
  }

  private static func changes(_ order: [Node], _ units: [UnitID?]) -> Int {
    zip(order, order.dropFirst()).count { units[$0.id] != units[$1.id] }
  }

  private func order(startingOn first: UnitID, _ units: [UnitID?]) -> [Node] {
    var waiting = [Int](repeating: 0, count: nodes.count)
    var readers = [[Int]](repeating: [], count: nodes.count)
    func add(_ earlier: Int, before later: Int) {
      guard !nodes[earlier].isSource, earlier != later else { return }
      readers[earlier].append(later)
      waiting[later] += 1
    }
    for node in nodes where !node.isSource {
      for input in Set(node.inputs) { add(input, before: node.id) }
    }
    for (update, reader) in stateOrder { add(reader, before: update) }
    var ready: [UnitID: ReadyQueue] = [:]
    for node in nodes where !node.isSource && waiting[node.id] == 0 {
      if let unit = units[node.id] { ready[unit, default: ReadyQueue()].insert(node.id) }
    }
    var result: [Node] = []
    var current = first
    while true {
      guard let id = ready[current]?.removeFirst() else {
        let next = ready.filter { !$0.value.isEmpty }.min { $0.value.first < $1.value.first }
        guard let next else { return result }
        current = next.key
        continue
      }
      result.append(nodes[id])
      for reader in readers[id] {
        waiting[reader] -= 1
        if waiting[reader] == 0, let unit = units[reader] {
          ready[unit, default: ReadyQueue()].insert(reader)
        }
      }
    }
  }

  /// Pairs of a state's next value and an operation that reads the old one.
  private var stateOrder: [(update: Int, reader: Int)] {
    outputs.filter(\.isState).flatMap { output -> [(update: Int, reader: Int)] in
      guard let state = nodes.first(where: { $0.op == .input && $0.name == output.name }) else {
        return []
      }
      return nodes.filter { $0.inputs.contains(state.id) && $0.id != output.node }
        .map { (output.node, $0.id) }
    }
  }
}

/// Nodes that can run, lowest index first.
private struct ReadyQueue {
  private var heap: [Int] = []

  var isEmpty: Bool { heap.isEmpty }
  var first: Int { heap.first ?? Int.max }

  mutating func insert(_ id: Int) {
    heap.append(id)
    var child = heap.count - 1
    while child > 0, heap[(child - 1) / 2] > heap[child] {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  mutating func removeFirst() -> Int? {
    guard let least = heap.first else { return nil }
    let last = heap.removeLast()
    guard !heap.isEmpty else { return least }
    heap[0] = last
    var parent = 0
    while true {
      let children = [2 * parent + 1, 2 * parent + 2].filter { $0 < heap.count }
      guard let smaller = children.min(by: { heap[$0] < heap[$1] }), heap[smaller] < heap[parent]
      else { return least }
      heap.swapAt(parent, smaller)
      parent = smaller
    }
  }
}
