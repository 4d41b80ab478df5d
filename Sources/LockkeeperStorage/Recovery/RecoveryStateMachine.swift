package import LockkeeperDomain

/// How far the recovery of an account has come, as it is noted before anything of it is done, so that
/// whoever comes after a crash can finish it.
package enum RecoveryPhase: String, Sendable, Hashable, CaseIterable {
    /// The damage is confirmed; the files stand where they stood.
    case confirmed
    /// The damaged files lie in a folder of their own.
    case aside
    /// Indexes are made anew in a copy of one of them.
    case reindexing
    /// What can be read of one of them is copied into a new file.
    case salvaging
    /// What was made is looked through.
    case inspecting
    /// The new files are the account's.
    case published
}

/// A recovery that was begun and is not at its end.
package struct RecoveryIntent: Sendable, Hashable, CustomStringConvertible {
    /// The account.
    package let account: AccountID
    /// The name of the folder that the damaged files are moved to, within the account's `damaged/`.
    package let folder: String
    /// The numbers of the damaged files.
    package let damaged: [StoreKind: Int64]
    /// Those of them that had no log when that was noticed. Opening one makes a log.
    package let missingLogs: Set<StoreKind>
    /// How far it is.
    package var phase: RecoveryPhase
    /// When it was begun, in milliseconds since 1970, for people.
    package let beganAt: Int64

    /// An intent of its parts.
    package init(
        account: AccountID,
        folder: String,
        damaged: [StoreKind: Int64],
        missingLogs: Set<StoreKind> = [],
        phase: RecoveryPhase = .confirmed,
        beganAt: Int64
    ) {
        precondition(!damaged.isEmpty, "a recovery is about a file")
        self.account = account
        self.folder = folder
        self.damaged = damaged
        self.missingLogs = missingLogs
        self.phase = phase
        self.beganAt = beganAt
    }

    /// The recovery in words.
    package var description: String {
        let kinds = damaged.keys.map(\.rawValue).sorted().joined(separator: " and ")
        return "recovery of \(kinds), \(phase.rawValue); the damaged files are in damaged/\(folder)"
    }
}

/// Carries out one ``RecoveryIntent``: what to do next, by what came of what was done. It is the same
/// for who began it and for who found it after a crash, and it knows nothing of files.
///
///     confirmed ──moveAside──▶ aside
///     aside ──for each damaged file, settings first──▶ reindexing
///     reindexing ──reindex, suffices──▶ inspecting
///        └────────does not suffice──▶ salvaging ──salvage──▶ inspecting
///     inspecting ──inspect, sound──▶ the next file, or publishing ──publish──▶ published
///        └─unsound, after reindexing──▶ salvaging
///     published ──complete──▶ ended
///
/// What is made between *aside* and *published* is nobody's until it is published: an intent that is found there
/// begins at *aside* again. What fails is left for who comes next; the damaged files are where they are.
package struct RecoveryStateMachine: Sendable, Hashable {
    /// What is to be done.
    package enum Action: Sendable, Hashable {
        /// Move the damaged files to their folder.
        case moveAside
        /// Make indexes anew in a copy of a file, where its tables are whole.
        case reindex(StoreKind)
        /// Copy what can be read of a file into a new one.
        case salvage(StoreKind)
        /// Look through what was made.
        case inspect(StoreKind)
        /// Make the new files the account's, in one transaction, under a new generation.
        case publish
        /// Forget the intent.
        case complete
    }

    /// What came of an action.
    package enum Outcome: Sendable, Hashable {
        /// It is done.
        case done
        /// The file is not one for which this suffices.
        case insufficient
    }

    private enum State: Sendable, Hashable {
        case moving
        case reindexing(StoreKind)
        case salvaging(StoreKind)
        case inspecting(StoreKind, wasReindexed: Bool)
        case publishing
        case completing
        case ended
    }

    private var state: State
    private var waiting: [StoreKind]

    /// A machine that carries out an intent from where it stands.
    package init(_ intent: RecoveryIntent) {
        // Settings first, as everywhere.
        waiting = [StoreKind.settings, .messages].filter { intent.damaged[$0] != nil }
        switch intent.phase {
        case .confirmed: state = .moving
        case .aside, .reindexing, .salvaging, .inspecting:
            state = .ended
            takeNext()
        case .published: state = .completing
        }
    }

    /// What is to be done next; `nil` at the end.
    package var action: Action? {
        switch state {
        case .moving: .moveAside
        case .reindexing(let kind): .reindex(kind)
        case .salvaging(let kind): .salvage(kind)
        case .inspecting(let kind, _): .inspect(kind)
        case .publishing: .publish
        case .completing: .complete
        case .ended: nil
        }
    }

    /// The phase that is noted before the action is done.
    package var phase: RecoveryPhase {
        switch state {
        case .moving: .confirmed
        case .reindexing: .reindexing
        case .salvaging: .salvaging
        case .inspecting, .publishing: .inspecting
        case .completing, .ended: .published
        }
    }

    /// Takes note of what came of the action.
    ///
    /// - Returns: whether it goes on: an inspection that finds a salvaged file unsound ends it for now.
    package mutating func take(_ outcome: Outcome) -> Bool {
        switch (state, outcome) {
        case (.moving, _): takeNext()
        case (.reindexing(let kind), .done): state = .inspecting(kind, wasReindexed: true)
        case (.reindexing(let kind), .insufficient): state = .salvaging(kind)
        case (.salvaging(let kind), _): state = .inspecting(kind, wasReindexed: false)
        case (.inspecting, .done): takeNext()
        case (.inspecting(let kind, let wasReindexed), .insufficient):
            guard wasReindexed else { return false }
            state = .salvaging(kind)
        case (.publishing, _): state = .completing
        case (.completing, _): state = .ended
        case (.ended, _): preconditionFailure("a machine that has ended has no action")
        }
        return true
    }

    private mutating func takeNext() {
        state = waiting.isEmpty ? .publishing : .reindexing(waiting.removeFirst())
    }
}
