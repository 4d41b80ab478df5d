package import LockkeeperDomain

/// Carries out one ``SwitchIntent``: what to do next, by what came of what was done. It is the same
/// for who began it and for who found it after a crash, and it knows nothing of files.
///
///     retiring ──done, lost──▶ advancing ──▶ activating ──done──▶ completing ──▶ ended
///        │  │       (signing out: ──▶ completing)  │ │ └─untouched, no switch─▶ withdrawing ─▶ ended
///        │  └─untouched──▶ withdrawing ──▶ ended   │ └─no switch──▶ ended, the intent stays
///        └─otherwise─┐                             │
///                    ▼                             │
///               turningBack ◀──a switch, once──────┘
///                    │
///                    └──▶ settling ──▶ activating, the first account again
///
/// An intent that is found at *activating* begins at *settling*: the other account's fences are
/// written where they are not, since an intent that was turned round has a second account whose
/// fences may say that it is active. That is done as well as it can be: an account that cannot be
/// written gives nobody a session either. An intent that was turned round is never withdrawn: no
/// account would be active then. What fails in it is left for who comes next.
package struct SwitchStateMachine: Sendable, Hashable {
    /// What is to be done, and is durable once it is done.
    package enum Action: Sendable, Hashable {
        /// Write both fences of the token's account, settings first. The account that is to become
        /// active is prepared before.
        case writeFences(FencingToken, AccountState)
        /// ``Registry/advance(_:)``.
        case advance(SwitchIntent)
        /// ``Registry/turnBack(_:retiringTarget:)``.
        case turnBack(SwitchIntent, retiringTarget: Bool)
        /// ``Registry/complete(_:)``.
        case complete(SwitchIntent)
        /// ``Registry/withdraw(_:)``.
        case withdraw(SwitchIntent)
    }

    /// What is known of an account's fences after they could not be written.
    package enum Failure: Sendable, Hashable, CaseIterable {
        /// Both are as the registry knows them, so that the intent can be taken back.
        case untouched
        /// One has come to the generation, at least.
        case reached
        /// Anything else: one cannot be read, or stands between what the registry knows and what the
        /// intent wants, where a switch was turned round.
        case uncertain
        /// A file is missing or damaged, and no other process is there that could still write it.
        case lost

        /// What two fences say, `nil` for one that cannot be read.
        ///
        /// - Parameters:
        ///   - recorded: the account's generation in the registry.
        ///   - wanted: the generation that the fences were to get.
        package init(fences: [Generation?], recorded: Generation, wanted: Generation) {
            let readable = fences.compactMap { $0 }
            if readable.contains(where: { $0 >= wanted }) {
                self = .reached
            } else if readable.count == fences.count, readable.allSatisfy({ $0 <= recorded }) {
                self = .untouched
            } else {
                self = .uncertain
            }
        }
    }

    /// How it ended.
    package enum Ending: Sendable, Hashable {
        /// As it was meant.
        case done
        /// The accounts are as they were before, or the first one is active under a third generation.
        case undone
        /// The intent stays: who comes next tries again.
        case left
    }

    private enum State: Sendable, Hashable {
        case retiring, advancing, settling, activating, completing, withdrawing
        case turningBack(retiringTarget: Bool)
        case ended(Ending)
    }

    /// The intent as the registry has it.
    package private(set) var intent: SwitchIntent
    private var state: State
    private var wasTurned = false

    /// A machine that carries out an intent from where it stands.
    package init(_ intent: SwitchIntent) {
        self.intent = intent
        state = intent.step == .retiring ? .retiring : Self.activation(of: intent)
    }

    /// What is to be done next; `nil` at the end.
    package var action: Action? {
        switch (state, intent.retiring, intent.activating) {
        case (.retiring, let old?, _), (.settling, let old?, _): .writeFences(old, .retired)
        case (.advancing, _, _): .advance(intent)
        case (.activating, _, let new?): .writeFences(new, .active)
        case (.turningBack(let retiringTarget), _, _):
            .turnBack(intent, retiringTarget: retiringTarget)
        case (.completing, _, _): .complete(intent)
        case (.withdrawing, _, _): .withdraw(intent)
        case (.ended, _, _): nil
        case (.retiring, nil, _), (.settling, nil, _), (.activating, _, nil):
            preconditionFailure("an intent does not come to a step that it has no account for")
        }
    }

    /// How it ended; `nil` before.
    package var ending: Ending? { if case .ended(let ending) = state { ending } else { nil } }

    /// Takes note that the action is done.
    ///
    /// - Parameter next: the intent as the registry has it now, where the action changed it.
    package mutating func succeed(with next: SwitchIntent? = nil) {
        if let next { intent = next }
        switch state {
        case .retiring: state = intent.activating == nil ? .completing : .advancing
        case .advancing, .settling: state = .activating
        case .activating: state = .completing
        case .turningBack:
            wasTurned = true
            state = Self.activation(of: intent)
        case .completing: state = .ended(wasTurned ? .undone : .done)
        case .withdrawing: state = .ended(.undone)
        case .ended: preconditionFailure("nothing is done after the end")
        }
    }

    /// Takes note that the action failed.
    ///
    /// - Parameter failure: what is known of the fences, where the action was to write them.
    package mutating func fail(_ failure: Failure) {
        switch (state, failure) {
        // Nobody is left to write the account, and whoever activates it again writes its fence first.
        case (.retiring, .lost), (.settling, _): succeed()
        case (.retiring, .untouched): state = .withdrawing
        // Its fences say retired perhaps: it gets a third generation.
        case (.retiring, _): state = .turningBack(retiringTarget: false)
        case (.activating, _) where intent.retiring != nil && !wasTurned:
            // Its fences may say that it is active, under this generation or under one that the intent
            // had before it was renewed, or found in the fences.
            state = .turningBack(retiringTarget: failure != .untouched)
        case (.activating, .untouched) where intent.retiring == nil && !intent.isReturn:
            state = .withdrawing
        case (.activating, _), (.advancing, _), (.turningBack, _), (.completing, _),
            (.withdrawing, _):
            state = .ended(.left)
        case (.ended, _): preconditionFailure("nothing is done after the end")
        }
    }

    private static func activation(of intent: SwitchIntent) -> State {
        intent.retiring == nil ? .activating : .settling
    }
}

extension SwitchIntent {
    /// The other account of a switch, as the fences of the one name it; `nil` where there is one only.
    package func counterpart(of token: FencingToken) -> FencingToken? {
        token == retiring ? activating : retiring
    }

    /// The intent once the first account is retired in its own files.
    var advanced: SwitchIntent {
        SwitchIntent(
            retiring: retiring,
            activating: activating,
            step: .activating,
            isReturn: isReturn
        )
    }

    /// The intent that brings the first account back.
    ///
    /// - Parameters:
    ///   - retiringTarget: whether the second account's fences may say that it is active: then they
    ///     are to say that it is not.
    ///   - take: takes the next generation.
    package func turnedBack<Failure: Error>(
        retiringTarget: Bool,
        _ take: () throws(Failure) -> Generation
    ) throws(Failure) -> SwitchIntent? {
        guard let retiring else { return nil }
        let back = FencingToken(account: retiring.account, generation: try take())
        var target: FencingToken?
        if retiringTarget, let activating {
            target = FencingToken(account: activating.account, generation: try take())
        }
        return SwitchIntent(
            retiring: target,
            activating: back,
            step: .activating,
            isReturn: true
        )
    }
}
