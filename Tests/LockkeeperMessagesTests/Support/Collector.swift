import Synchronization

/// Collects values that other threads hand over.
final class Collector<Value: Sendable>: Sendable {
    private let collected = Mutex<[Value]>([])

    var values: [Value] { collected.withLock { $0 } }

    func append(_ value: Value) { collected.withLock { $0.append(value) } }
}
