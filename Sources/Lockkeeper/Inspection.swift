import LockkeeperDomain
import LockkeeperSQLite
import LockkeeperStorage

/// Something about a store that is not as it should be.
public struct InspectionFinding: Sendable, Hashable {
    /// What it is, for programs: stable.
    public let code: String
    /// What it concerns: a file, a table, a conversation.
    public let subject: String
    /// What was found, as a sentence without message text.
    public let explanation: String
    /// What to do, as a sentence.
    public let remedy: String
}

extension Session {
    /// Looks whether the account's files are what they should be. Changes nothing.
    ///
    /// - Parameter deep: besides structure and commit log also indexes against their tables, foreign
    ///   keys, cursors, and every stored counter against its recount (I-16), which reads everything.
    /// - Returns: what was found; nothing for a sound store.
    public func inspect(deep: Bool = true) async throws -> [InspectionFinding] {
        let (workspace, attachment, account) = (workspace, attachment, account)
        return try await workspace.work { _ in
            let files = try AccountFiles(attachment.account, of: workspace)
            let deadline = workspace.deadlineOfOpening()
            var findings: [InspectionFinding] = []
            for kind in StoreKind.allCases {
                findings += try files.inspect(
                    kind,
                    account: account,
                    level: deep ? .deep : .quick,
                    deadline: deadline
                )
            }
            return findings
        }
    }
}

extension AccountFiles {
    func inspect(
        _ kind: StoreKind,
        account: AccountInfo,
        level: StoreInspection.Level,
        deadline: Deadline
    ) throws -> [InspectionFinding] {
        let path = try path(of: kind)
        let schemas = kind == .messages ? workspace.schemas : []
        let inspection = StoreInspection(
            migrations: schemas.flatMap(\.migrations),
            probes: schemas.flatMap { $0.probes(account) }
        )
        let connection = try StoreFile.open(
            path,
            for: .reading,
            environment: workspace.environment,
            busyDeadline: deadline
        )
        defer { try? connection.close() }
        return try inspection.run(on: connection, path: path, level: level).map {
            InspectionFinding(
                code: $0.code,
                subject: $0.subject,
                explanation: $0.explanation,
                remedy: $0.remedy
            )
        }
    }
}
