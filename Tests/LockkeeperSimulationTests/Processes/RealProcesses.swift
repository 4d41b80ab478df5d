import Testing

/// Tests that start processes of their own. They run one at a time: several of them at once, beside all
/// others, would leave the processes that a schedule waits for without a processor.
@Suite(.serialized)
enum RealProcesses {}
