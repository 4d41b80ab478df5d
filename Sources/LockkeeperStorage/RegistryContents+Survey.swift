package import LockkeeperDomain

/// What the folder of one account says, as far as it can be read.
package struct SurveyedAccount: Sendable, Hashable {
    /// The account's charter.
    package let charter: AccountCharter
    /// The fences of its current files.
    package let fences: [StoreKind: Fence]

    /// A survey of its parts.
    package init(charter: AccountCharter, fences: [StoreKind: Fence]) {
        self.charter = charter
        self.fences = fences
    }

    private var messages: Fence? { fences[.messages] }

    /// The account's row. One whose messages cannot be read gives nobody a session as it is.
    fileprivate var record: AccountRecord {
        let fence = messages ?? fences[.settings]
        return charter.record.with(
            state: messages?.state ?? .retired,
            generation: fence?.generation ?? Generation(0)
        )
    }

    /// Whether both fences can be read and do not say the same: somebody died between the two.
    fileprivate var isUnsettled: Bool {
        guard let settings = fences[.settings], let messages else { return false }
        return settings.generation != messages.generation || settings.state != messages.state
    }

    /// The newest generation that it tells of, its own or another's.
    fileprivate var newestGeneration: Generation {
        let told = fences.values.flatMap {
            [$0.generation, $0.counterpart?.generation ?? $0.generation]
        }
        return told.reduce(charter.record.birth, max)
    }

    /// The generation that the last switch of the account gives to another one; `nil` where that one
    /// has come to it, is another account by now, or cannot be read, so that nobody knows.
    fileprivate func missing(of other: SurveyedAccount) -> Generation? {
        guard let wanted = messages?.counterpart, wanted.account == other.charter.record.id,
            other.charter.record.birth < wanted.generation,
            let reached = other.messages?.since, reached < wanted.generation
        else { return nil }
        return wanted.generation
    }
}

extension RegistryContents {
    /// More generations than a workspace has ever given: those of which no fence tells, because the
    /// account was removed since, are not given again.
    private static let generationJump: Int64 = 1 << 20

    /// What the accounts' folders say together.
    ///
    /// A switch is found by its fences, each of which names the other account and the generation that
    /// it gets: where that one has not come to it, the new registry has an intent to finish the
    /// switch. At rest exactly one of the two is active then, as if the registry had not been lost. An
    /// account of which only the settings were fenced is settled by an intent as well.
    package init(of surveyed: [SurveyedAccount]) {
        self.init()
        guard !surveyed.isEmpty else { return }
        let known = surveyed.filter { !$0.charter.isRemoving }
        accounts = known.map(\.record)
        removals = surveyed.filter(\.charter.isRemoving).map {
            PendingRemoval(id: $0.charter.record.id, directory: $0.charter.record.directory)
        }
        let newest = surveyed.map(\.newestGeneration).reduce(Generation(0), max)
        generation = Generation(newest.rawValue + Self.generationJump)
        intent = unfinishedSwitch(of: known) ?? settlement(of: known)
    }

    /// What finishes the newest switch that is not at its end; `nil` where none is.
    private mutating func unfinishedSwitch(of known: [SurveyedAccount]) -> SwitchIntent? {
        var newest: (one: SurveyedAccount, other: SurveyedAccount, missing: Generation)?
        for one in known {
            for other in known {
                guard let missing = one.missing(of: other),
                    newest.map({ $0.missing < missing }) ?? true
                else { continue }
                newest = (one, other, missing)
            }
        }
        guard let newest else { return nil }
        let isLeft = newest.one.record.state == .retired
        // Fences that say it already may not be on the disk: they are written or synced once more.
        let there = newest.one.isUnsettled ? take(newest.one.record) : newest.one.record.token
        let missing = take(newest.other.record)
        if !isLeft {
            // The switch was turned round while its target could not be written: nobody is to get a
            // session of that one, whatever its fence says.
            let other = newest.other.record
            accounts = accounts.map { account in
                account.id == other.id ? account.with(state: .retired) : account
            }
        }
        return SwitchIntent(
            retiring: isLeft ? there : missing,
            activating: isLeft ? missing : there,
            step: .activating
        )
    }

    /// What makes both fences of an account say what the messages' one says.
    private mutating func settlement(of known: [SurveyedAccount]) -> SwitchIntent? {
        guard let unsettled = known.last(where: \.isUnsettled)?.record else { return nil }
        let token = take(unsettled)
        return unsettled.state == .active
            ? SwitchIntent(retiring: nil, activating: token, step: .activating)
            : SwitchIntent(retiring: token, activating: nil, step: .retiring)
    }

    private mutating func take(_ account: AccountRecord) -> FencingToken {
        generation = generation.next
        return FencingToken(account: account.id, generation: generation)
    }
}

extension AccountRecord {
    fileprivate var token: FencingToken { FencingToken(account: id, generation: generation) }
}
