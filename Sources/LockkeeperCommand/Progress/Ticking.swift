import LockkeeperDomain
import LockkeeperPlatform

/// Says on a terminal for how long work lasts of which nobody knows how far it is.
enum Ticking {
    /// Runs work; from its second second on a line says what it is and for how long it lasts.
    static func whileRunning<Value>(
        _ what: String,
        on console: Console,
        _ body: () async throws -> Value
    ) async throws -> Value {
        guard console.isErrorStreamShown else { return try await body() }
        let clock = SystemClock()
        let began = clock.now()
        let ticker = Task {
            while !Task.isCancelled {
                try await Task.sleep(for: .seconds(1))
                let seconds = clock.now().duration(since: began).wholeNanoseconds / 1_000_000_000
                console.show("lockkeeper: \(what), for \(seconds) s")
            }
        }
        do {
            let value = try await body()
            await end(ticker, console)
            return value
        } catch {
            await end(ticker, console)
            throw error
        }
    }

    /// Waits for the last line before it is taken away.
    private static func end(_ ticker: Task<Void, any Error>, _ console: Console) async {
        ticker.cancel()
        _ = await ticker.result
        console.show(nil)
    }
}
