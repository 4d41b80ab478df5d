package import LockkeeperDomain

/// The name of a backup in an account's own folder of backups, which says all that keeping and
/// removing goes by:
///
///     messages-181-1764515107000-manual.db
///     messages-181-1764515107000-migration-until-1767107107000.db
///
/// kind, last commit, when it was made, why, and until when it is kept: instants of the wall clock in
/// milliseconds, since how long something is kept is a matter for people (I-15 is about ownership).
package struct BackupName: Sendable, Hashable {
    /// Why a backup was made.
    package enum Reason: String, Sendable, Hashable, CaseIterable {
        /// Somebody asked for it.
        case manual
        /// The schema was about to change.
        case migration
    }

    /// How the name of one ends that is being made: nobody else names files so, in whatever folder.
    package static let unfinished = ".lockkeeper-tmp"

    /// Which of the account's databases it is of.
    package let kind: StoreKind
    /// The last commit in it.
    package let commit: CommitNumber
    /// When it was made.
    package let madeAt: Int64
    /// Why.
    package let reason: Reason
    /// When it is to be removed; `nil` where only its number among others counts.
    package let expiresAt: Int64?

    /// A name of its parts.
    package init(
        kind: StoreKind,
        commit: CommitNumber,
        madeAt: Int64,
        reason: Reason,
        expiresAt: Int64?
    ) {
        self.kind = kind
        self.commit = commit
        self.madeAt = madeAt
        self.reason = reason
        self.expiresAt = expiresAt
    }

    /// Reads a file's name; `nil` for any other.
    package init?(_ name: String) {
        guard name.hasSuffix(".db") else { return nil }
        let parts = name.dropLast(3).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 4 || parts.count == 6 && parts[4] == "until",
            let kind = StoreKind(rawValue: String(parts[0])),
            let commit = Int64(parts[1]), let madeAt = Int64(parts[2]),
            let reason = Reason(rawValue: String(parts[3]))
        else { return nil }
        if parts.count == 6, Int64(parts[5]) == nil { return nil }
        self.init(
            kind: kind,
            commit: CommitNumber(commit),
            madeAt: madeAt,
            reason: reason,
            expiresAt: parts.count == 6 ? Int64(parts[5]) : nil
        )
    }

    /// The file's name.
    package var text: String {
        let until = expiresAt.map { "-until-\($0)" } ?? ""
        return "\(kind.rawValue)-\(commit)-\(madeAt)-\(reason.rawValue)\(until).db"
    }

    /// Those of some backups that are not kept: whose time has come, and of the others of one kind and
    /// reason all but the newest.
    ///
    /// - Parameters:
    ///   - now: the wall clock in milliseconds.
    ///   - countMax: how many of a reason are kept; `nil` keeps all.
    package static func superfluous(
        among names: [BackupName],
        at now: Int64,
        countMax: (Reason) -> Int?
    ) -> [BackupName] {
        var superfluous = names.filter { $0.expiresAt.map { $0 <= now } ?? false }
        let rest = names.filter { !superfluous.contains($0) }
        for kind in StoreKind.allCases {
            for reason in Reason.allCases {
                guard let countMax = countMax(reason) else { continue }
                let same = rest.filter { $0.kind == kind && $0.reason == reason }
                    .sorted { ($0.madeAt, $0.commit) > ($1.madeAt, $1.commit) }
                superfluous += same.dropFirst(countMax)
            }
        }
        return superfluous
    }
}
