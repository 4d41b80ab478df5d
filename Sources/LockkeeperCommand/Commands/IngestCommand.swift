import Lockkeeper
import LockkeeperDomain
import LockkeeperMessages
import LockkeeperPlatform

/// `ingest`: acts as a helper.
struct IngestCommand: Command {
    static let name = "ingest"
    static let usage = "[FILE|-] [options]"
    static let summary = "store event lines, print a receipt per batch, then a summary"
    static let details = """
        Reads events as JSON lines and stores them in batches, in turn with every other process.
        Prints one receipt per batch: what may be acknowledged to the server is what a receipt
        states, nothing else. Whoever feeds it through a pipe reads the receipts meanwhile: while
        they are not read, no more is stored.

        A line that cannot be read is named with its number and reason, kept in quarantine, and
        passed over; the run then ends with code 65. A page that comes before its predecessor waits;
        where one still waits at the end it is named, and the code is 75 where it would be 0. When
        the account is switched away from,
        the run ends at once with code 76 and says how many events were not stored.

        With --deliver it acts as a push helper, which must not lose what it got: what the account's
        database cannot take soon, because the account is not active or the database is busy, is kept
        as a file and applied by whoever opens the account next ('inbox list'). It prints a receipt, or
        {"kept":…} with the packet's name; either is durable. A line that cannot be read goes along, is
        named, and ends with code 65 here too. An account that was never added is refused with code 67:
        nobody would ever apply what was kept for it.

        An event is one line of JSON. Its fields by type, those in brackets may be left out:

          message       conversation id seq sender sent_at body [version kind counts incoming
                        server_at client_id reply_to mentions mentions_me attachments expires_at];
                        the type of lines without one; seq may be missing at version 0 alone, which
                        gives way to any other (a push, a confirmation)
          edit          conversation id version (2 or more) [by edited_at body mentions mentions_me
                        attachments expires_at]
          recall        conversation id version [by seq sender sent_at incoming]
          delete        conversation id [seq version]: for the account alone
          reaction      conversation id by emoji version [slot removed]
          read          conversation, and seq or id [by kind: read, delivered]
          conversation  conversation version [title kind muted pinned archived marked_unread parent]
          member        conversation who version [role removed]
          clear         conversation seq: for the account everything up to here is gone
          history       conversation from to: everything in this range has been given
          page          stream after (null for the first) next [done]: moves the stream's cursor
          reset         stream expected: the server no longer knows this cursor

        Times are RFC 3339; ids have 1 to 512 bytes. Other fields of message, edit, reaction,
        conversation and member are kept and exported again, each by itself; those of the rest are not.
        Other types are kept for a later version of this program. Docs/PROTOCOL.md has the rest.

          lockkeeper ingest feed.ndjson --account alice --name push-helper
          lockkeeper ingest --deliver --account bob < push.ndjson
        """
    static let options: [OptionSpecification] = [
        .value("name", "N", "this helper's name among the origins of changes [ingest]"),
        .value("durability", "durable|committed", "what receipts promise [durable]"),
        .flag("deliver", "keep as files what the database cannot take now"),
        .flag("no-effects", "an import: its messages notify of nothing"),
        .flag("refuse-gaps", "refuse a page whole that does not begin at its stream's cursor"),
    ]

    static let awaitedSignals: [Signal] = [.interrupt]

    private let path: String?
    private let processName: String
    private let durability: Durability
    private let refusesGaps: Bool
    private let delivers: Bool
    private let effects: EffectPolicy

    init(_ arguments: inout Arguments) throws(UsageError) {
        let path = arguments.optionalPositional()
        self.path = path == "-" ? nil : path
        processName = arguments.value("name") ?? "ingest"
        if processName.isEmpty { throw UsageError("--name must not be empty.") }
        durability = try arguments.choice("durability", of: Durability.self) ?? .durable
        refusesGaps = arguments.flag("refuse-gaps")
        delivers = arguments.flag("deliver")
        effects = arguments.flag("no-effects") ? .suppress : .decide
        if delivers, refusesGaps || durability == .committed || effects == .suppress {
            throw UsageError(
                "--deliver goes with none of --refuse-gaps, --durability committed, --no-effects."
            )
        }
    }

    func run(in context: CommandContext) async throws -> ExitCode {
        let interruption = try WakeEvent()
        let wasInterrupted = Flag()
        try Interrupts.watch {
            _ = wasInterrupted.raise()
            interruption.signal()
        }
        let input = try openInput(interruption)
        let workspace = try await context.openWorkspace(as: processName, role: .helper)
        let exitCode: ExitCode
        do {
            let account = try await context.account(in: workspace)
            if context.options.account == nil {
                context.console.note(
                    "lockkeeper: into \(terminalID(account.description)), the only active account"
                )
            }
            let report = IngestReport(
                console: context.console,
                isJSON: context.options.isJSON,
                interruption: interruption
            )
            let meter = ProgressMeter(context, "ingest", unit: "bytes")
            // Where receipts come to the same terminal they say it, and a bar would stand among them.
            let isMetered = input.size != nil && !context.console.isOutputShown
            if delivers {
                let run = DeliverRun(workspace: workspace, account: account, report: report)
                let failure = try await run.run(input)
                exitCode = try conclude(run, failure, interrupted: wasInterrupted, context)
            } else {
                let run = IngestRun(
                    messages: try MessageStore(try await workspace.session(account)),
                    durability: durability,
                    // What comes by a pipe has just come; a file is history.
                    admission: path == nil ? .live : .backfill,
                    effects: effects,
                    report: report,
                    interruption: interruption,
                    progress: { if isMetered { meter.show(done: $0, of: $1) } }
                )
                let failure =
                    refusesGaps
                    ? try await run.pageByPage(input) : try await run.pipelined(input)
                if isMetered { meter.end() }
                exitCode = try await conclude(run, failure, interrupted: wasInterrupted, context)
            }
        } catch {
            await workspace.close()
            throw error
        }
        await workspace.close()
        return exitCode
    }

    /// Says how far it came: what was read is stored, and the input may go on behind it.
    private static func tellInterruption(
        _ sums: IngestReport.Totals,
        _ context: CommandContext
    ) -> ExitCode {
        context.console.note(
            "lockkeeper: Interrupted. Read: \(counted(sums.lineCount, "line")), stored:"
                + " \(counted(sums.outcomes.total, "event")); the same input can be given again, and"
                + " nothing is stored twice."
        )
        return .interrupted
    }

    private func openInput(_ interruption: WakeEvent) throws -> IngestInput {
        if let path, (try? FileSystem.status(path))??.kind == .directory {
            throw CommandError(
                "unreadable-input",
                .inputOutput,
                "\(terminalText(path)) is a folder. Name a file in it, or feed several with"
                    + " 'cat FOLDER/* | lockkeeper ingest'."
            )
        }
        do {
            return try IngestInput(path: path, interruption: interruption)
        } catch {
            throw CommandError(
                "unreadable-input",
                error.errno == .permissionDenied ? .permission : .inputOutput,
                "The events cannot be read: \(error). Name a file that this user may read, or '-'"
                    + " for standard input."
            )
        }
    }

    /// Prints the summary and chooses the exit code: what ended the run first, then what could not
    /// be read, because no other attempt will tell of it, then what still waits.
    private func conclude(
        _ run: IngestRun,
        _ failure: (any Error)?,
        interrupted: Flag,
        _ context: CommandContext
    ) async throws -> ExitCode {
        let waiting = failure == nil ? try await waitingPages(run) : []
        let token = run.messages.session.token
        let metrics = run.messages.session.workspace.metrics
        let isPrinted = try sumUp(run.report, context) { report throws(SystemCallError) in
            try report.printSummary(
                token,
                waiting: waiting,
                durability: durability,
                stages: metrics.stages
            )
        }
        if !isPrinted { return .inputOutput }
        let sums = run.report.sums
        if let failure { throw failure }
        if interrupted.isRaised { return Self.tellInterruption(sums, context) }
        for gap in waiting {
            func name(_ cursor: Cursor?) -> String { cursor.map { "'\($0)'" } ?? "no cursor" }
            context.console.note(
                "lockkeeper: stream \(gap.stream): expected a page after \(name(gap.expected)),"
                    + " found one after \(name(gap.found)). Ask the server again from"
                    + " \(name(gap.expected))."
            )
        }
        if sums.unreadableCount > 0 { return .unreadableLines }
        return waiting.isEmpty ? .success : .tryAgain
    }

    /// Prints the summary of a delivery and chooses the exit code.
    private func conclude(
        _ run: DeliverRun,
        _ failure: (any Error)?,
        interrupted: Flag,
        _ context: CommandContext
    ) throws -> ExitCode {
        let isPrinted = try sumUp(run.report, context) { report throws(SystemCallError) in
            try report.printSummary(ofDeliveriesTo: run.account)
        }
        if !isPrinted { return .inputOutput }
        if let failure { throw failure }
        if interrupted.isRaised { return Self.tellInterruption(run.report.sums, context) }
        return run.report.sums.unreadableCount > 0 ? .unreadableLines : .success
    }

    /// Prints the summary, and says what was not stored.
    ///
    /// - Returns: whether anybody reads what is printed.
    private func sumUp(
        _ report: IngestReport,
        _ context: CommandContext,
        _ summary: (IngestReport) throws(SystemCallError) -> Void
    ) throws(SystemCallError) -> Bool {
        if let error = context.console.outputFailure {
            context.console.note("lockkeeper: receipts cannot be printed any more: \(error)")
            return false
        }
        try summary(report)
        let refusedCount = report.sums.refusedCount
        if refusedCount > 0 {
            context.console.note(
                "lockkeeper: read and not stored: \(counted(refusedCount, "event"))"
            )
        }
        return true
    }

    private func waitingPages(_ run: IngestRun) async throws -> [PageGap] {
        let streams = run.report.sums.cursors
        return try await run.messages.waitingPages().filter { streams.keys.contains($0.stream) }
    }
}
