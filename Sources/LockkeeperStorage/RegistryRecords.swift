package import LockkeeperDomain

/// One account as the registry knows it.
package struct AccountRecord: Sendable, Hashable {
    /// The account.
    package let id: AccountID
    /// The name of its directory under `accounts/`.
    package let directory: String
    /// The generation that was taken when it was added. An account that had the id before, and was
    /// removed, has another one.
    package let birth: Generation
    /// Who the account is on its server, where that is known.
    package let ownID: [UInt8]?
    /// What its server promises.
    package let contract: ServerContract
    /// Whether it takes writes. The fence in the account's own file decides; this says what the
    /// fence should be.
    package let state: AccountState
    /// The generation under which it was last activated or retired, 0 before the first time.
    package let generation: Generation
    /// The number in the name of its current messages file, 0 before there is one.
    package let messagesFile: Int64
    /// The number in the name of its current settings file, 0 before there is one.
    package let settingsFile: Int64
    /// When it was added, in milliseconds since 1970.
    package let createdAt: Int64

    /// The number in the name of its current file of a kind, 0 before there is one.
    package func fileNumber(of kind: StoreKind) -> Int64 {
        switch kind {
        case .messages: messagesFile
        case .settings: settingsFile
        }
    }

    /// A record of its parts; the defaults are those of an account that was never activated.
    package init(
        id: AccountID,
        directory: String,
        birth: Generation,
        ownID: [UInt8]?,
        contract: ServerContract,
        state: AccountState = .retired,
        generation: Generation = Generation(0),
        messagesFile: Int64 = 0,
        settingsFile: Int64 = 0,
        createdAt: Int64
    ) {
        self.id = id
        self.directory = directory
        self.birth = birth
        self.ownID = ownID
        self.contract = contract
        self.state = state
        self.generation = generation
        self.messagesFile = messagesFile
        self.settingsFile = settingsFile
        self.createdAt = createdAt
    }
}

extension AccountRecord {
    /// The record with some things changed; what is not named stays as it is.
    package func with(
        birth: Generation? = nil,
        state: AccountState? = nil,
        generation: Generation? = nil,
        messagesFile: Int64? = nil,
        settingsFile: Int64? = nil
    ) -> AccountRecord {
        AccountRecord(
            id: id,
            directory: directory,
            birth: birth ?? self.birth,
            ownID: ownID,
            contract: contract,
            state: state ?? self.state,
            generation: generation ?? self.generation,
            messagesFile: messagesFile ?? self.messagesFile,
            settingsFile: settingsFile ?? self.settingsFile,
            createdAt: createdAt
        )
    }
}

/// A change of who may write, as it is noted before anything of it is done, so that whoever comes
/// after a crash can finish it.
///
///     none ──begin…──▶ retiring ──advance──▶ activating ──complete──▶ none
///                         │  └──withdraw──▶ none          │
///                         └────────turnBack───────────────┴──▶ activating (the first account again)
///
/// ``SwitchStateMachine`` says which of these comes when.
///
/// Signing in alone begins at *activating*, signing out alone ends after *retiring*. What was done
/// of it is not counted but compared: each fence says under which generation it stands.
package struct SwitchIntent: Sendable, Hashable, CustomStringConvertible {
    /// The account that stops being written, and the generation that its fence gets.
    package let retiring: FencingToken?
    /// The account that is written from then on, and the generation that its fence gets.
    package let activating: FencingToken?
    /// What is to be done next.
    package let step: Step
    /// Whether it brings an account back that a switch has retired already: it is never taken back,
    /// because no account would be active then.
    package let isReturn: Bool

    /// The steps.
    package enum Step: String, Sendable, Hashable {
        /// The one account is to be retired.
        case retiring
        /// The one account is retired, or there was none; the other is to be activated.
        case activating
    }

    /// An intent of its parts.
    package init(
        retiring: FencingToken?,
        activating: FencingToken?,
        step: Step,
        isReturn: Bool = false
    ) {
        precondition(retiring != nil || activating != nil, "an intent names an account")
        self.retiring = retiring
        self.activating = activating
        self.step = step
        self.isReturn = isReturn
    }

    /// The intent in words.
    package var description: String {
        switch (retiring, activating) {
        case (let from?, let to?): "switching from \(from) to \(to), \(step.rawValue)"
        case (let from?, nil): "signing out of \(from)"
        case (nil, let to?): "activating \(to)"
        case (nil, nil): "nothing"
        }
    }
}
