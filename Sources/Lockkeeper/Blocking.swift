import LockkeeperPlatform

/// Runs work that may block on a thread of its own and waits for it without blocking.
///
/// Opening, switching and closing wait for locks and disks. On the cooperative pool such a wait
/// would stop unrelated tasks; they are rare enough for a thread each.
func blocking<Value: Sendable>(
    _ name: String,
    _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        do {
            _ = try WorkerThread.start(name: name) {
                continuation.resume(with: Result { try body() })
            }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}
