import LockkeeperDomain
import LockkeeperPlatform

/// The hub's second thread: it alone reads accounts' logs, one request after the other, so that a
/// slow disk never holds up the sockets.
///
/// Bounded without a bound of its own: the hub has at most one request per account and one per
/// subscriber outstanding.
final class LogReader: Sendable {
    private let state: Monitor<State>
    private let thread: WorkerThread

    private struct State: Sendable {
        var requests: [ReadRequest] = []
        var isStopping = false
    }

    /// Starts the thread.
    ///
    /// - Parameter deliver: Called on the thread with each outcome.
    /// - Throws: `SystemCallError` when the kernel refuses another thread.
    init(
        source: any HubSource,
        deliver: @escaping @Sendable (ReadRequest, ReadOutcome) -> Void
    ) throws(SystemCallError) {
        let state = Monitor(State())
        self.state = state
        thread = try WorkerThread.start(name: "lk-hub-log") {
            while let request = Self.nextRequest(state) {
                deliver(request, Self.read(request, from: source))
            }
        }
    }

    /// Asks for a reading.
    func submit(_ request: ReadRequest) {
        state.withLock { $0.requests.append(request) }
        state.signal()
    }

    /// Ends the thread after the reading that is under way; what was not begun is not read.
    func stop() {
        state.withLock { $0.isStopping = true }
        state.signal()
        thread.join()
    }

    private static func nextRequest(_ state: Monitor<State>) -> ReadRequest? {
        enum Next { case request(ReadRequest), stop }
        let next = state.wait(until: .never) { state -> Next? in
            if state.isStopping { return .stop }
            return state.requests.isEmpty ? nil : .request(state.requests.removeFirst())
        }
        guard case .request(let request)? = next else { return nil }
        return request
    }

    private static func read(_ request: ReadRequest, from source: any HubSource) -> ReadOutcome {
        do {
            let reading = try source.read(request.stream, after: request.after)
            return reading.map(ReadOutcome.reading) ?? .unknownAccount
        } catch {
            return .failed(reason: "\(error)")
        }
    }
}
