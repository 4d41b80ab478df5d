import LockkeeperDomain
import Testing

@testable import LockkeeperStorage

@Suite("What is done next in a switch, by what came of what was done (I-2, I-12)")
struct SwitchStateMachineTests {
    private let old = FencingToken(account: "a", generation: Generation(2))
    private let new = FencingToken(account: "b", generation: Generation(3))

    private func machine(step: SwitchIntent.Step = .retiring) -> SwitchStateMachine {
        SwitchStateMachine(SwitchIntent(retiring: old, activating: new, step: step))
    }

    @Test("retire, note it, activate, complete")
    func ordinary() {
        var machine = machine()
        #expect(machine.action == .writeFences(old, .retired))
        machine.succeed()
        let intent = SwitchIntent(retiring: old, activating: new, step: .retiring)
        #expect(machine.action == .advance(intent))
        machine.succeed(with: intent.advanced)
        #expect(machine.action == .writeFences(new, .active))
        machine.succeed()
        #expect(machine.action == .complete(intent.advanced))
        machine.succeed()
        #expect(machine.action == nil && machine.ending == .done)
    }

    @Test("the first account's fences say what becomes of an intent that cannot be begun")
    func cannotRetire() {
        let intent = SwitchIntent(retiring: old, activating: new, step: .retiring)
        let expected: [(SwitchStateMachine.Failure, SwitchStateMachine.Action)] = [
            (.untouched, .withdraw(intent)),
            (.reached, .turnBack(intent, retiringTarget: false)),
            (.uncertain, .turnBack(intent, retiringTarget: false)),
            (.lost, .advance(intent)),
        ]
        for (failure, action) in expected {
            var machine = machine()
            machine.fail(failure)
            #expect(machine.action == action, "\(failure)")
        }
    }

    @Test(
        "a target that fails brings the first account back, and is retired where it may be active"
    )
    func cannotActivate() throws {
        for (failure, isReached) in [
            (SwitchStateMachine.Failure.reached, true), (.uncertain, true), (.untouched, false),
        ] {
            var machine = machine(step: .activating)
            machine.succeed()
            #expect(machine.action == .writeFences(new, .active))
            machine.fail(failure)
            let intent = SwitchIntent(retiring: old, activating: new, step: .activating)
            #expect(machine.action == .turnBack(intent, retiringTarget: isReached))
            var last = Generation(3)
            let back = try #require(
                intent.turnedBack(retiringTarget: isReached) {
                    last = last.next
                    return last
                }
            )
            machine.succeed(with: back)
            if isReached {
                let target = FencingToken(account: "b", generation: Generation(5))
                #expect(machine.action == .writeFences(target, .retired))
                // Done as well as it can be.
                machine.fail(.uncertain)
            }
            let again = FencingToken(account: "a", generation: Generation(4))
            #expect(machine.action == .writeFences(again, .active))
            machine.succeed()
            #expect(machine.action == .complete(back))
            machine.succeed()
            #expect(machine.ending == .undone)
        }
    }

    @Test("an intent that brings an account back is never withdrawn; an ordinary activation is")
    func returning() {
        for isReturn in [false, true] {
            let intent = SwitchIntent(
                retiring: nil,
                activating: new,
                step: .activating,
                isReturn: isReturn
            )
            var machine = SwitchStateMachine(intent)
            machine.fail(.untouched)
            #expect(machine.action == (isReturn ? nil : .withdraw(intent)))
            #expect(machine.ending == (isReturn ? .left : nil))
        }
    }

    @Test("two fences and the registry say how far a write came")
    func failures() {
        func failure(_ fences: Int64?...) -> SwitchStateMachine.Failure {
            SwitchStateMachine.Failure(
                fences: fences.map { $0.map(Generation.init) },
                recorded: Generation(4),
                wanted: Generation(7)
            )
        }
        #expect(failure(4, 4) == .untouched)
        #expect(failure(3, 4) == .untouched)
        #expect(failure(7, 4) == .reached)
        #expect(failure(9, nil) == .reached)
        #expect(failure(nil, 4) == .uncertain)
        // A turned switch's first account: neither as recorded nor as wanted.
        #expect(failure(6, 4) == .uncertain)
    }
}
