import Glibc

/// The signals that Lockkeeper sends or waits for, by name.
package enum Signal: Sendable, Hashable, CaseIterable {
    /// A person typed ^C. The corresponding C constant is `SIGINT`.
    case interrupt
    /// The process is asked to end. The corresponding C constant is `SIGTERM`.
    case terminate
    /// The process ends at once, wherever it is. The corresponding C constant is `SIGKILL`.
    case kill
    /// The process stands still, with every lock that it has. The corresponding C constant is
    /// `SIGSTOP`.
    case stop
    /// A person typed ^Z. The corresponding C constant is `SIGTSTP`.
    case terminalStop
    /// A stopped process goes on. The corresponding C constant is `SIGCONT`.
    case resume

    /// The kernel's number.
    package var rawValue: Int32 {
        switch self {
        case .interrupt: SIGINT
        case .terminate: SIGTERM
        case .kill: SIGKILL
        case .stop: SIGSTOP
        case .terminalStop: SIGTSTP
        case .resume: SIGCONT
        }
    }
}
