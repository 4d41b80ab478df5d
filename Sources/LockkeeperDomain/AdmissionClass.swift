/// Which of this process's callers goes first. Between processes nobody does (I-1).
public enum AdmissionClass: Sendable, Hashable, CaseIterable {
    /// Somebody waits for it: what a person does, or a packet that has just come.
    case live
    /// Nobody does: history that is fetched, pruning, rebuilding.
    case backfill
    /// What can be done at any time and changes nothing that anybody sees, like indexing: it goes where
    /// nobody else of the process waits.
    case upkeep
}
