import CLockkeeperPlatform
import Glibc

/// What a program decides about its own process: how signals reach it, and how it ends.
package enum CurrentProcess {
    /// The process id.
    package static var pid: Int32 { getpid() }

    /// Leads standard streams that the process was started without to `/dev/null`. The kernel gives
    /// the smallest free number to whatever is opened next: a lock file would become the output.
    ///
    /// A missing input is not readable afterwards (``FileDescriptor/isReadable``): nothing was said,
    /// which is not the same as that there is nothing.
    package static func openMissingStandardStreams() {
        var status = stat()
        for descriptor: Int32 in 0...2 where fstat(descriptor, &status) != 0 {
            _ = lk_open("/dev/null", O_WRONLY, 0)
        }
    }

    /// Lets a write to a pipe without a reader fail with `EPIPE` instead of killing the process.
    package static func ignoreBrokenPipes() {
        _ = signal(SIGPIPE, SIG_IGN)
    }

    /// Blocks signals in the calling thread and in every thread that it starts from now on, so that
    /// ``wait(for:)`` is the one place where they arrive. A program calls it before it has a second
    /// thread; one that exists already would still be interrupted.
    package static func block(_ signals: [Signal]) {
        var set = signalSet(signals)
        let result = pthread_sigmask(SIG_BLOCK, &set, nil)
        precondition(result == 0, "signals that have names can be blocked")
    }

    /// Blocks the calling thread until one of some blocked signals arrives, and returns it.
    package static func wait(for signals: [Signal]) -> Signal {
        var set = signalSet(signals)
        while true {
            var number: Int32 = 0
            let result = sigwait(&set, &number)
            precondition(result == 0, "signals that have names can be waited for")
            if let signal = signals.first(where: { $0.rawValue == number }) { return signal }
        }
    }

    /// Asks this process to end, as others ask it: by SIGTERM.
    package static func terminate() { kill(getpid(), SIGTERM) }

    /// Stops the whole process until somebody lets it go on.
    package static func stop() { kill(getpid(), SIGSTOP) }

    /// Ends the process at once, without unwinding what other threads do.
    package static func exit(_ code: Int32) -> Never { Glibc.exit(code) }

    private static func signalSet(_ signals: [Signal]) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal.rawValue) }
        return set
    }
}
