import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform
import LockkeeperSQLite
import LockkeeperStorage

/// Does what a ``RecoveryStateMachine`` says, for who is alone with the account and under SWITCH (5.8).
///
/// ```
/// accounts/<directory>/
///   messages-2.db                           what was made, once it is published
///   damaged/recovery-<n>/messages-1.db …    the damaged set, as it was
///                        report.json .txt   what was kept, and what was lost
/// ```
struct RecoveryWork {
    let workspace: Workspace
    let attachment: AccountAttachment
    let deadline: Deadline
    let progress: (RepairProgress) -> Void

    /// What was made, and not published yet.
    private struct Made {
        var numbers: [StoreKind: Int64] = [:]
        var reports: [StoreKind: SalvageReport] = [:]
    }

    /// Carries a recovery to its end.
    ///
    /// - Parameter sound: the connections that prove that nobody else has the files open, of files that
    ///   could be opened. Those of damaged ones are closed here.
    /// - Returns: what was kept and what was lost; `nil` where another process had published the new
    ///   files and died before the end.
    func carryOut(
        _ begun: RecoveryIntent,
        _ sound: [StoreKind: Connection]
    ) throws -> RepairReport? {
        var intent = begun
        var machine = RecoveryStateMachine(intent)
        var made = Made()
        var generation: Generation?
        var report: RepairReport?
        while let action = machine.action {
            if machine.phase != intent.phase, action != .complete {
                intent.phase = machine.phase
                try workspace.registry.use { [intent] in try $0.note(intent) }
            }
            show(machine.phase)
            var outcome = RecoveryStateMachine.Outcome.done
            switch action {
            case .moveAside: try moveAside(intent, sound)
            case .reindex(let kind):
                let now = try generation ?? reserveGeneration()
                generation = now
                let isDone = try reindex(kind, intent, sound, at: now, &made)
                if !isDone { outcome = .insufficient }
            case .salvage(let kind):
                let now = try generation ?? reserveGeneration()
                generation = now
                try salvage(kind, intent, sound, at: now, &made)
            case .inspect(let kind):
                if try !isSound(kind, made) { outcome = .insufficient }
            case .publish:
                let now = try generation ?? reserveGeneration()
                (intent, report) = try publish(intent, made, sound, at: now)
            case .complete: try workspace.registry.use { [intent] in try $0.complete(intent) }
            }
            Self.place(behind: action).reach()
            if !machine.take(outcome) { throw unsound(intent) }
        }
        return report
    }

    /// Where the tests' processes die or stop once a step is done.
    private static func place(behind action: RecoveryStateMachine.Action) -> Failpoint {
        switch action {
        case .moveAside: .recoveryAside
        case .reindex: .recoveryReindexed
        case .salvage: .recoverySalvaged
        case .inspect: .recoveryInspected
        case .publish: .recoveryPublished
        case .complete: .recoveryCompleted
        }
    }

    // MARK: - Aside

    private func moveAside(_ intent: RecoveryIntent, _ sound: [StoreKind: Connection]) throws {
        for kind in intent.damaged.keys { try sound[kind]?.close() }
        let paths = attachment.paths
        let folder = "\(paths.damaged)/\(intent.folder)"
        try FileSystem.makeDirectory(paths.damaged, mode: 0o700)
        try FileSystem.makeDirectory(folder, mode: 0o700)
        for (kind, number) in intent.damaged {
            try StoreFiles(paths.file(of: kind, number: number)).move(to: folder)
        }
        try FileSystem.syncDirectory(folder)
        try FileSystem.syncDirectory(paths.damaged)
        try FileSystem.syncDirectory(paths.directory)
    }

    private func damagedPath(_ kind: StoreKind, _ intent: RecoveryIntent) -> String {
        attachment.paths.file(of: kind, number: intent.damaged[kind] ?? 0, in: intent.folder)
    }

    private func reserveGeneration() throws -> Generation {
        try workspace.registry.use { try $0.reserveGeneration() }
    }

    // MARK: - Making

    private func reindex(
        _ kind: StoreKind,
        _ intent: RecoveryIntent,
        _ sound: [StoreKind: Connection],
        at generation: Generation,
        _ made: inout Made
    ) throws -> Bool {
        // What stood in a log that is gone is in no table.
        guard !intent.missingLogs.contains(kind) else { return false }
        return try withSource(kind, intent) { source in
            guard let source else { return false }
            let path = try newFile(kind, &made)
            var generator = SystemRandomNumberGenerator()
            let record = try workspace.registry.record(of: attachment.account)
            let report = try removing(path) {
                try salvage(of: kind, .reindexing).reindex(
                    source,
                    key: try key(of: source, sound),
                    into: path,
                    as: .random(using: &generator),
                    at: generation,
                    record.state
                )
            }
            // The damaged set has everything that it held.
            if report == nil { try StoreFiles(path).remove() }
            made.reports[kind] = report
            return report != nil
        }
    }

    private func salvage(
        _ kind: StoreKind,
        _ intent: RecoveryIntent,
        _ sound: [StoreKind: Connection],
        at generation: Generation,
        _ made: inout Made
    ) throws {
        // Where a copy with new indexes was not sound.
        if let number = made.numbers[kind] {
            try StoreFiles(attachment.paths.file(of: kind, number: number)).remove()
        }
        made.reports[kind] = try withSource(kind, intent) { source in
            let path = try newFile(kind, &made)
            let record = try workspace.registry.record(of: attachment.account)
            return try removing(path) {
                try salvage(of: kind, .salvaging).run(
                    source,
                    log: intent.missingLogs.contains(kind) ? .missing : .read,
                    key: try key(of: source, sound),
                    into: path
                ) { floor in
                    var generator = SystemRandomNumberGenerator()
                    return Fence(
                        kind: kind,
                        account: attachment.account,
                        store: .random(using: &generator),
                        generation: generation,
                        state: record.state,
                        bootID: workspace.environment.bootID,
                        floor: floor
                    )
                }
            }
        }
    }

    /// Makes a file that nobody knows yet; where that fails it is removed, so that tries that fail leave
    /// nothing.
    private func removing<Value>(_ path: String, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch {
            try? StoreFiles(path).remove()
            throw error
        }
    }

    /// What a new file is encrypted with: the key of the damaged one, else that of the other file.
    private func key(
        of source: DamagedStore?,
        _ sound: [StoreKind: Connection]
    ) throws -> StoreKey? {
        let connections = [source?.connection].compactMap { $0 } + sound.values
        return try workspace.keyOfNewFiles(of: attachment.account, beside: connections)
    }

    private func salvage(of kind: StoreKind, _ phase: RecoveryPhase) throws -> StoreSalvage {
        let record = try workspace.registry.record(of: attachment.account)
        return StoreSalvage(
            kind,
            plan: workspace.salvagePlan(for: kind),
            migrations: workspace.migrations(for: kind),
            ownID: record.ownID,
            environment: workspace.environment
        ) { show(phase, kind, $0) }
    }

    private func withSource<Value>(
        _ kind: StoreKind,
        _ intent: RecoveryIntent,
        _ body: (DamagedStore?) throws -> Value
    ) throws -> Value {
        let path = damagedPath(kind, intent)
        let backups = AccountBackups(workspace: workspace, paths: attachment.paths)
        let names = try backups.names().filter { $0.kind == kind }.sorted { $0.madeAt > $1.madeAt }
        let schemas = DamagedStore.Schemas(
            backups: names.map { "\(attachment.paths.backups)/\($0.text)" },
            makeFresh: { try makeEmpty(kind, at: $0) }
        )
        let source = try DamagedStore.open(path, schemas, workspace.environment)
        let result = Result { try body(source) }
        try source?.close()
        return try result.get()
    }

    /// An empty store of this program's schema, all of it in its database file.
    private func makeEmpty(_ kind: StoreKind, at path: String) throws {
        var generator = SystemRandomNumberGenerator()
        try StoreFile.create(
            path,
            fence: Fence(
                kind: kind,
                account: attachment.account,
                store: .random(using: &generator),
                generation: Generation(0),
                state: .retired,
                bootID: workspace.environment.bootID
            ),
            migrations: workspace.migrations(for: kind),
            environment: workspace.environment,
            busyDeadline: deadline
        )
        let connection = try StoreFile.open(
            path,
            for: .maintaining,
            environment: workspace.environment,
            busyDeadline: deadline
        )
        defer { try? connection.close() }
        _ = try connection.value("SELECT generation FROM lk_fence")
        _ = try connection.checkpoint(.truncate)
    }

    private func newFile(_ kind: StoreKind, _ made: inout Made) throws -> String {
        let record = try workspace.registry.record(of: attachment.account)
        let number = try attachment.nextFileNumber(of: kind, after: record.fileNumber(of: kind))
        made.numbers[kind] = number
        return attachment.paths.file(of: kind, number: number)
    }

    // MARK: - Publishing

    private func isSound(_ kind: StoreKind, _ made: Made) throws -> Bool {
        guard let number = made.numbers[kind] else { return false }
        let path = attachment.paths.file(of: kind, number: number)
        let connection = try StoreFile.open(
            path,
            for: .reading,
            environment: workspace.environment,
            busyDeadline: deadline
        )
        defer { try? connection.close() }
        let record = try workspace.registry.record(of: attachment.account)
        return try workspace.damage(
            of: kind,
            in: connection,
            path: path,
            AccountInfo(record)
        ).isEmpty
    }

    private func publish(
        _ intent: RecoveryIntent,
        _ made: Made,
        _ sound: [StoreKind: Connection],
        at generation: Generation
    ) throws -> (RecoveryIntent, RepairReport) {
        let record = try workspace.registry.record(of: attachment.account)
        // The file that is sound stays, under the same generation as the new one.
        for kind in StoreKind.allCases where intent.damaged[kind] == nil {
            guard let connection = sound[kind] else { continue }
            try Fence.advance(
                connection,
                path: attachment.paths.file(of: kind, number: record.fileNumber(of: kind)),
                to: generation,
                record.state
            )
        }
        let report = RepairReport(
            attachment.account,
            generation,
            folder: "\(attachment.paths.damaged)/\(intent.folder)",
            [StoreKind.settings, .messages].compactMap { made.reports[$0] }
        )
        try report.write()
        let published = try workspace.registry.use {
            try $0.publish(intent, made.numbers, at: generation)
        }
        return (published, report)
    }

    private func unsound(_ intent: RecoveryIntent) -> LockkeeperError {
        LockkeeperError(
            .damaged,
            subject: "account \(attachment.account)",
            explanation: "what was made of the damaged files is not sound",
            answer: .recover,
            remedy:
                "The damaged files are in \(attachment.paths.damaged)/\(intent.folder). Restore a"
                + " backup."
        )
    }

    // MARK: - For people

    private func show(
        _ phase: RecoveryPhase,
        _ kind: StoreKind? = nil,
        _ now: StoreSalvage.Progress? = nil
    ) {
        let done = now?.tablesDone ?? 0
        let count = now?.tableCount ?? 0
        progress(
            RepairProgress(
                phase: phase.rawValue,
                database: kind,
                done: done,
                count: count,
                rowCount: now?.rowCount ?? 0
            )
        )
        let steps = count > 0 ? ActivityProgress(done: done, of: count) : nil
        try? attachment.membership.setActivity(.recovering, steps)
    }
}
