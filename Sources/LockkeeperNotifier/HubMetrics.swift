import LockkeeperDomain
import LockkeeperPlatform

/// Numbers of the process that keeps a hub, as its socket tells them to who asks.
package struct HubMetrics: Sendable, Hashable {
    /// Its process id.
    package var pid: Int32 = 0
    /// The name under which it commits.
    package var name = ""
    /// Its role.
    package var role = ""
    /// Clients of the hub.
    package var connectionCount = 0
    /// Histograms by the names of stages, as numbers.
    package var stages: [String: [Int64]] = [:]

    /// Joins them.
    package init(
        pid: Int32,
        name: String,
        role: String,
        connectionCount: Int,
        stages: [String: [Int64]]
    ) {
        self.pid = pid
        self.name = name
        self.role = role
        self.connectionCount = connectionCount
        self.stages = stages
    }

    /// Reads a hub's answer.
    ///
    /// - Throws: ``JSONError`` where it is none.
    init(_ line: UnsafeRawBufferPointer) throws(JSONError) {
        var scanner = JSONScanner(line)
        try scanner.beginObject()
        while let key = try scanner.nextKey() {
            switch try scanner.string(key.slice) {
            case "metrics": try readMembers(&scanner)
            default: _ = try scanner.nextValue()
            }
        }
        try scanner.finish()
    }

    private mutating func readMembers(_ scanner: inout JSONScanner) throws(JSONError) {
        try scanner.beginObject()
        while let key = try scanner.nextKey() {
            switch try scanner.string(key.slice) {
            case "pid": pid = Int32(clamping: try scanner.readInteger())
            case "name": name = try scanner.readString()
            case "role": role = try scanner.readString()
            case "connections": connectionCount = Int(try scanner.readInteger())
            case "stages": try readStages(&scanner)
            default: _ = try scanner.nextValue()
            }
        }
    }

    private mutating func readStages(_ scanner: inout JSONScanner) throws(JSONError) {
        try scanner.beginObject()
        while let key = try scanner.nextKey() {
            let name = try scanner.string(key.slice)
            var numbers: [Int64] = []
            try scanner.beginArray()
            while try scanner.nextElement() { numbers.append(try scanner.readInteger()) }
            stages[name] = numbers
        }
    }

    /// The answer as a line.
    var line: [UInt8] {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("metrics")
        writer.beginObject()
        writer.key("pid")
        writer.integer(pid)
        writer.key("name")
        writer.string(name)
        writer.key("role")
        writer.string(role)
        writer.key("connections")
        writer.integer(connectionCount)
        writer.key("stages")
        writer.beginObject()
        for (name, numbers) in stages.sorted(by: { $0.key < $1.key }) {
            writer.key(name)
            writer.beginArray()
            for number in numbers { writer.integer(number) }
            writer.endArray()
        }
        writer.endObject()
        writer.endObject()
        writer.endObject()
        writer.endLine()
        return writer.bytes
    }
}

extension HubRequest {
    /// A hub that runs answers within a round of its thread; one that is stopped does not at all.
    private static let answerWaitMax = Duration.milliseconds(300)

    /// Asks the hub at a path for its process's numbers. Blocks for at most 300 ms.
    ///
    /// - Returns: `nil` where no hub of the same user answers.
    package static func metrics(path: String) -> HubMetrics? {
        guard let connection = try? connectToOwnHub(path: path),
            (try? NotifierLine.encodeAsk("metrics").withUnsafeBytes { try connection.send($0) })
                != nil
        else { return nil }
        let clock = SystemClock()
        let deadline = Deadline(after: answerWaitMax, from: clock.now())
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
        defer { buffer.deallocate() }
        var lines = LineBuffer(byteCountMax: buffer.count)
        var answer: HubMetrics?
        while answer == nil, !deadline.hasPassed(at: clock.now()) {
            var poll = Poll()
            poll.add(connection.raw, .readable)
            guard (try? poll.wait(until: deadline, clock: clock)) != nil,
                let received = try? connection.receive(into: buffer)
            else { return nil }
            switch received {
            case .nothing: continue
            case .end: return nil
            case .bytes(let count):
                let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                do {
                    // A hub of an older program answers with an error.
                    try lines.append(bytes) { line in
                        answer = (try? HubMetrics(line)).flatMap { $0.pid > 0 ? $0 : nil }
                    }
                } catch {
                    return nil
                }
            }
        }
        return answer
    }
}
