/// What is searched in, and how often.
package struct SearchPlan: Sendable, Hashable {
    /// Messages in the store, where they are made.
    package var messageCount = 200_000
    /// A log of event lines to store instead; `nil`: texts are made.
    package var file: String?
    /// Searches of each measurement.
    package var searchCount = 200
    /// How often each is measured, in turn.
    package var repeatCount = 3
    /// Hits of a page.
    package static let limit = 50

    /// The defaults.
    package init() {}

    /// The process that ingests beside the searches: a thousand messages a second, which is a busy
    /// day, in batches of ten.
    var writer: BenchAssignment {
        var assignment = BenchAssignment(
            store: .lockkeeper,
            number: 1,
            batchCount: 10,
            time: .seconds(3600)
        )
        assignment.way = .write
        assignment.pause = .milliseconds(10)
        return assignment
    }
}
