import Glibc
import LockkeeperDomain
import LockkeeperLocking
import LockkeeperPlatform

/// Everything of the room, used in a child that was forked after it was opened (B22).
///
/// The child exits with 0 when every use was refused with ``LockingError/forkedChild``, and with
/// the number of the first one that was not. A use that hangs is ended by an alarm.
final class ForkedUse: Sendable {
    let membership: LockFileMembership
    let writer: WriterThread
    let turnstile: Turnstile

    init(membership: LockFileMembership, writer: WriterThread, turnstile: Turnstile) {
        self.membership = membership
        self.writer = writer
        self.turnstile = turnstile
    }

    /// What the child does.
    static let inChild: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { context in
        alarm(10)
        guard let context else { return 64 }
        return Unmanaged<ForkedUse>.fromOpaque(context).takeUnretainedValue().firstUseThatIsTaken()
    }

    private func firstUseThatIsTaken() -> Int32 {
        let uses: [() throws -> Void] = [
            { try self.membership.setActivity(.writing) },
            { _ = try self.membership.tryAcquire(.entry, .shared) },
            { _ = try self.membership.holders(of: .maintenance) },
            { _ = try self.membership.members() },
            { _ = try self.membership.admissionCount() },
            { try self.membership.detach() },
            { try self.membership.attach() },
            { _ = try Turnstile(self.membership) },
            { try self.turnstile.enter().leave() },
            { _ = try WriterThread.start(self.membership) },
            { _ = try self.writer.suspend(until: .never) },
            { try self.writer.resume() },
            { try self.submit() },
        ]
        for (index, use) in uses.enumerated() {
            do {
                try use()
                return Int32(index + 1)
            } catch LockingError.forkedChild {
                continue
            } catch {
                return Int32(index + 101)
            }
        }
        // There is no thread to be closed.
        return writer.close(until: .never) ? 0 : 99
    }

    private func submit() throws {
        final class Work: AdmittedWork {
            let error = Monitor<LockingError?>(nil)
            func perform(waited: Duration) {}
            func finish(before following: Following) {}
            func fail(_ error: LockingError) { self.error.withLock { $0 = error } }
        }
        let work = Work()
        let ticket = writer.submit(work, deadline: .never)
        _ = writer.withdraw(ticket)
        if let error = work.error.withLock({ $0 }) { throw error }
    }
}
