/// One unit of work for the holder of WRITER: one transaction. Of `perform` and `fail` exactly one
/// is called, once, unless the work was withdrawn; then neither is.
package protocol AdmittedWork: AnyObject, Sendable {
    /// Does the work, on the thread that holds WRITER. `waited` is the time since it was submitted.
    func perform(waited: Duration)

    /// Called on the same thread after WRITER was released. Others of the line may have been
    /// performed under the same admission before that; they finish in the same order. `othersWait`
    /// says that somebody stands behind in this process's line, so that what takes long here keeps
    /// others waiting.
    func finish(othersWait: Bool)

    /// The work was never admitted. Called on the thread that found out: the caller's, the
    /// writer's or the timer's; it must not wait.
    func fail(_ error: LockingError)
}

/// Names work that was submitted, so that it can be withdrawn.
package struct AdmissionTicket: Sendable, Hashable {
    let number: UInt64
}
