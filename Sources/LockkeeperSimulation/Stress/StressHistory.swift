import LockkeeperDomain
package import LockkeeperPlatform

/// One process of a stress run.
package struct StressProcess: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// What it does.
    package let role: StressRole
    /// The worker's number.
    package let worker: Int
    /// Which of the worker's processes it is, 1 for the first.
    package let life: Int

    /// A process of its parts.
    package init(_ role: StressRole, worker: Int, life: Int) {
        self.role = role
        self.worker = worker
        self.life = life
    }

    /// The name in reports, in the commit log and of the file of its history.
    package var description: String { "\(role.rawValue)-\(worker).\(life)" }

    /// Reads a name; `nil` where it is none.
    package init?(_ name: some StringProtocol) {
        let parts = name.split(separator: "-")
        guard parts.count == 2, let role = StressRole(rawValue: String(parts[0])) else {
            return nil
        }
        let numbers = parts[1].split(separator: ".").map { Int($0) }
        guard numbers.count == 2, let worker = numbers[0], let life = numbers[1] else {
            return nil
        }
        self.init(role, worker: worker, life: life)
    }

    /// The file of its history.
    func historyPath(in folder: String) -> String { "\(folder)/\(self).jsonl" }

    /// Orders processes by worker and life.
    package static func < (left: Self, right: Self) -> Bool {
        (left.worker, left.life) < (right.worker, right.life)
    }
}

/// What one process of a stress run asked and was told.
package struct StressHistory: Sendable, Hashable {
    /// The process.
    package let process: StressProcess
    /// Its lines, in order.
    package var entries: [StressEntry]
    /// A line that is none, and is not the torn last one of a process that was killed.
    package var unreadable: String?
    /// How the process ended, as the run saw it.
    package var ending: ExitStatus?

    /// A history of its parts.
    package init(_ process: StressProcess, _ entries: [StressEntry], ending: ExitStatus? = nil) {
        self.process = process
        self.entries = entries
        self.ending = ending
    }

    /// Reads the file of a process.
    ///
    /// - Throws: ``SystemCallError`` when it cannot be read. One that is not there is an empty history:
    ///   its process was killed before it had said anything.
    package init(_ process: StressProcess, in folder: String) throws(SystemCallError) {
        self.init(process, [])
        let path = process.historyPath(in: folder)
        guard try FileSystem.status(path) != nil else { return }
        let bytes = try FileSystem.contents(of: path)
        var start = bytes.startIndex
        while let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) {
            if let entry = StressEntry(bytes[start..<end]) {
                entries.append(entry)
            } else {
                unreadable = String(decoding: bytes[start..<end], as: UTF8.self)
            }
            start = end + 1
        }
    }
}

/// The file into which a process writes its history. Lines of several threads do not mix: each is one
/// call of the kernel, which appends.
final class StressJournal: Sendable {
    private let descriptor: FileDescriptor
    private let clock = SystemClock()

    /// Makes the file.
    ///
    /// - Throws: ``SystemCallError`` when it cannot be made.
    init(_ process: StressProcess, in folder: String) throws(SystemCallError) {
        descriptor = try FileDescriptor(
            opening: process.historyPath(in: folder),
            [.writeOnly, .create, .append]
        )
    }

    /// The present time as histories count it.
    var now: Int64 { clock.now().microseconds }

    /// Appends a line. It is the kernel's when this returns, so that no kill loses it.
    ///
    /// A history that cannot be written is worth nothing, and neither is the run: it ends the process.
    func append(_ entry: StressEntry) {
        do {
            try descriptor.write(entry.line)
        } catch {
            preconditionFailure("the history cannot be written: \(error)")
        }
    }
}
