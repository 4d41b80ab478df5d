import LockkeeperPlatform
import LockkeeperSimulation
import Testing

/// Runs the program at a terminal: a pseudo-terminal is its input, output and error stream.
enum TerminalRunner {
    /// What the terminal got, escape sequences and all, and how the program ended.
    struct Result {
        let status: LockkeeperPlatform.ExitStatus
        let screen: String
    }

    /// What is typed once something has come; a control character as Python writes it: `\x03`.
    struct Answer {
        let expected: String
        let typed: String
    }

    /// Waits for each expected text, types its answer, and hands on what the terminal got.
    private static let script = """
        import fcntl, os, pty, struct, sys, termios
        count = int(sys.argv[1])
        pairs, command = sys.argv[2:2 + 2 * count], sys.argv[2 + 2 * count:]
        pid, terminal = pty.fork()
        if pid == 0:
            os.execvp(command[0], command)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        screen, seen = b"", 0
        while True:
            while pairs and pairs[0].encode() in screen[seen:]:
                seen = screen.index(pairs[0].encode(), seen) + len(pairs[0].encode())
                os.write(terminal, pairs[1].encode().decode("unicode_escape").encode())
                pairs = pairs[2:]
            try:
                data = os.read(terminal, 65536)
            except OSError:
                break
            if not data:
                break
            screen += data
        _, status = os.waitpid(pid, 0)
        sys.stdout.buffer.write(screen)
        sys.stdout.flush()
        if pairs:
            sys.exit("never seen: " + pairs[0])
        sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))
        """

    /// Runs a command of a program to its end.
    static func run(
        program: String = CommandRunner.program,
        _ arguments: [String],
        answers: [Answer] = []
    ) async throws -> Result {
        let pairs = answers.flatMap { [$0.expected, $0.typed] }
        let command = try RunningCommand(
            ["-c", script, "\(answers.count)"] + pairs + [program] + arguments,
            program: "python3"
        )
        command.closeInput()
        let result = await command.end()
        #expect(result.errors.isEmpty, "\(result.errorText)")
        return Result(status: result.status, screen: result.lines.joined(separator: "\n"))
    }
}
