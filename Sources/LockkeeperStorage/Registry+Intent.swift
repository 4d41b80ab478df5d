package import LockkeeperDomain
import LockkeeperSQLite

/// The intents of ``SwitchIntent``. Each operation is one transaction, in which numbers and intent
/// are taken together; the caller holds SWITCH.
extension Registry {
    /// The intent that somebody began and nobody completed.
    ///
    /// - Throws: ``StorageError/malformedRegistry(reason:)``; what SQLite throws.
    package func intent() throws(StorageError) -> SwitchIntent? {
        let select = try prepare(
            """
            SELECT from_account, from_generation, to_account, to_generation, step, is_return
            FROM lk_intent WHERE id = 1
            """
        )
        defer { select.reset() }
        guard try step(select) else { return nil }
        let retiring = try token(select, 0)
        let activating = try token(select, 2)
        guard let step = SwitchIntent.Step(rawValue: select.string(4)),
            retiring != nil || activating != nil
        else { throw .malformedRegistry(reason: "the intent makes no sense") }
        return SwitchIntent(
            retiring: retiring,
            activating: activating,
            step: step,
            isReturn: select.int64(5) == 1
        )
    }

    /// Begins to activate an account, also one that is active: signing in again gives a new
    /// generation.
    ///
    /// - Throws: ``StorageError/unknownAccount(_:)``; ``StorageError/intentPending(_:)``; what
    ///   SQLite throws.
    package func beginActivation(of account: AccountID) throws(StorageError) -> SwitchIntent {
        try begin { () throws(StorageError) in
            _ = try known(account)
            return SwitchIntent(
                retiring: nil,
                activating: FencingToken(account: account, generation: try takeGeneration()),
                step: .activating
            )
        }
    }

    /// Begins to sign out of an account.
    ///
    /// - Throws: ``StorageError/unknownAccount(_:)``; ``StorageError/accountNotActive(_:)``;
    ///   ``StorageError/intentPending(_:)``; what SQLite throws.
    package func beginRetirement(of account: AccountID) throws(StorageError) -> SwitchIntent {
        try begin { () throws(StorageError) in
            guard try known(account).state == .active else { throw .accountNotActive(account) }
            return SwitchIntent(
                retiring: FencingToken(account: account, generation: try takeGeneration()),
                activating: nil,
                step: .retiring
            )
        }
    }

    /// Begins to sign out of one account and into another as one act.
    ///
    /// - Throws: ``StorageError/unknownAccount(_:)``; ``StorageError/accountNotActive(_:)`` when
    ///   the first one is not; ``StorageError/intentPending(_:)``; what SQLite throws.
    package func beginSwitch(
        from source: AccountID,
        to target: AccountID
    ) throws(StorageError) -> SwitchIntent {
        precondition(source != target, "signing in again is an activation")
        return try begin { () throws(StorageError) in
            guard try known(source).state == .active else { throw .accountNotActive(source) }
            _ = try known(target)
            let retiring = FencingToken(account: source, generation: try takeGeneration())
            let activating = FencingToken(account: target, generation: try takeGeneration())
            return SwitchIntent(retiring: retiring, activating: activating, step: .retiring)
        }
    }

    /// Notes that the first account is retired in its own files, which is the point after which no
    /// batch of its old generation can commit.
    ///
    /// - Returns: the intent as it is now.
    /// - Throws: ``StorageError/intentChanged`` when another one is there; what SQLite throws.
    package func advance(_ intent: SwitchIntent) throws(StorageError) -> SwitchIntent {
        try replace(intent) { () throws(StorageError) in
            guard let retiring = intent.retiring else { throw .intentChanged }
            try writeState(.retired, retiring.generation, retiring.account)
            return intent.advanced
        }
    }

    /// Turns a switch round, because the other account cannot be activated: the first one is to be
    /// activated again, under a generation that is taken here.
    ///
    /// - Parameter retiringTarget: whether the other account's fences are to be written again, since
    ///   they may say that it is active.
    /// - Returns: the intent as it is now.
    /// - Throws: ``StorageError/intentChanged`` when another one is there; what SQLite throws.
    package func turnBack(
        _ intent: SwitchIntent,
        retiringTarget: Bool = false
    ) throws(StorageError) -> SwitchIntent {
        try replace(intent) { () throws(StorageError) in
            let back = try intent.turnedBack(retiringTarget: retiringTarget) {
                () throws(StorageError) in try takeGeneration()
            }
            guard let back else { throw .intentChanged }
            return back
        }
    }

    /// Gives an intent new generations where an account has a higher one by now: its files were copied
    /// into new ones meanwhile, and fences are only written upward.
    ///
    /// - Returns: the intent as it is now.
    /// - Throws: ``StorageError/unknownAccount(_:)``; ``StorageError/intentChanged`` when another
    ///   intent is there; what SQLite throws.
    package func renew(_ intent: SwitchIntent) throws(StorageError) -> SwitchIntent {
        var isOvertaken = false
        for token in [intent.retiring, intent.activating] {
            guard let token else { continue }
            if try known(token.account).generation > token.generation { isOvertaken = true }
        }
        guard isOvertaken else { return intent }
        return try replace(intent) { () throws(StorageError) in
            SwitchIntent(
                retiring: try renewed(intent.retiring),
                activating: try renewed(intent.activating),
                step: intent.step,
                isReturn: intent.isReturn
            )
        }
    }

    /// Completes an intent: the accounts' rows say what their fences say.
    ///
    /// - Throws: ``StorageError/intentChanged`` when another one is there; what SQLite throws.
    package func complete(_ intent: SwitchIntent) throws(StorageError) {
        try transaction { () throws(StorageError) in
            try require(intent)
            if let retiring = intent.retiring {
                try writeState(.retired, retiring.generation, retiring.account)
            }
            if let activating = intent.activating {
                try writeState(.active, activating.generation, activating.account)
            }
            try deleteIntent()
        }
    }

    /// Takes an intent back of which nothing was done yet. Its generations stay taken.
    ///
    /// - Throws: ``StorageError/intentChanged`` when another one is there; what SQLite throws.
    package func withdraw(_ intent: SwitchIntent) throws(StorageError) {
        try transaction { () throws(StorageError) in
            try require(intent)
            try deleteIntent()
        }
    }

    // MARK: - Within a transaction

    private func begin(
        _ make: () throws(StorageError) -> SwitchIntent
    ) throws(StorageError) -> SwitchIntent {
        try transaction { () throws(StorageError) in
            if let pending = try intent() { throw .intentPending(pending) }
            let intent = try make()
            try write(intent)
            return intent
        }
    }

    private func replace(
        _ intent: SwitchIntent,
        _ make: () throws(StorageError) -> SwitchIntent
    ) throws(StorageError) -> SwitchIntent {
        try transaction { () throws(StorageError) in
            try require(intent)
            let next = try make()
            try write(next)
            return next
        }
    }

    private func renewed(_ token: FencingToken?) throws(StorageError) -> FencingToken? {
        guard let token else { return nil }
        return FencingToken(account: token.account, generation: try takeGeneration())
    }

    private func require(_ intent: SwitchIntent) throws(StorageError) {
        guard try self.intent() == intent else { throw .intentChanged }
    }

    func write(_ intent: SwitchIntent) throws(StorageError) {
        let insert = try prepare(
            "INSERT OR REPLACE INTO lk_intent VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6)"
        )
        try sqlite { () throws(SQLiteError) in
            try insert.bind(1, text: intent.retiring?.account.bytes)
            try insert.bind(2, intent.retiring?.generation.rawValue)
            try insert.bind(3, text: intent.activating?.account.bytes)
            try insert.bind(4, intent.activating?.generation.rawValue)
            try insert.bind(5, intent.step.rawValue)
            try insert.bind(6, intent.isReturn ? 1 : 0)
            try insert.run()
        }
    }

    func deleteIntent() throws(StorageError) {
        let delete = try prepare("DELETE FROM lk_intent")
        try sqlite { () throws(SQLiteError) in try delete.run() }
    }

    private func token(_ row: Statement, _ column: Int) throws(StorageError) -> FencingToken? {
        guard let bytes = row.optionalBytes(column) else { return nil }
        guard let account = try? AccountID(bytes: bytes) else {
            throw .malformedRegistry(reason: "the intent makes no sense")
        }
        return FencingToken(account: account, generation: Generation(row.int64(column + 1)))
    }
}
