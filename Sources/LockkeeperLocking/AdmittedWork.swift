/// One unit of work for the holder of WRITER: one transaction. Of `perform` and `fail` exactly one
/// is called, once, unless the work was withdrawn; then neither is.
package protocol AdmittedWork: AnyObject, Sendable {
    /// Does the work, on the thread that holds WRITER. `waited` is the time since it was submitted.
    func perform(waited: Duration)

    /// Called on the same thread after WRITER was released. What was performed under one admission
    /// finishes in the same order.
    func finish(before following: Following)

    /// The work was never admitted. Called on the thread that found out: the caller's, the
    /// writer's or the timer's; it must not wait.
    func fail(_ error: LockingError)
}

/// Who comes after a piece of work that finishes.
package enum Following: Sendable, Hashable {
    /// Work of the same admission, which finishes at once: what both need can be done for both.
    case sameAdmission
    /// Somebody who stands in this process's line: what takes long here keeps him waiting.
    case line
    /// Nobody.
    case nobody
}

/// Names work that was submitted, so that it can be withdrawn.
package struct AdmissionTicket: Sendable, Hashable {
    let number: UInt64
}
