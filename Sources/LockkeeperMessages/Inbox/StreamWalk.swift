import LockkeeperDomain
import LockkeeperSQLite
import LockkeeperStorage

/// Finds up to where streams are received: from each cursor along the pages that wait, in the store
/// or in packets of the inbox (M-12, R-24).
struct StreamWalk {
    private let limits: Limits
    private var cursors: [StreamID: Cursor] = [:]
    private var waiting: [StreamID: Int] = [:]
    /// Where a page leads, by where it begins. Of several from one cursor the smallest is followed, as
    /// the merge does.
    private var pages: [StreamID: [Cursor?: Cursor]] = [:]

    init(limits: Limits) { self.limits = limits }

    /// Adds the pages of a packet: the one that it is known to be, and, of event lines, those among
    /// them.
    mutating func add(_ packet: Packet) {
        if let page = packet.page { add(page) }
        guard packet.format == .eventLines else { return }
        for line in LineDecoder.lines(of: packet.bytes, limits: limits) {
            if case .page(let page) = line.event { add(page) }
        }
    }

    /// Adds what stands in the database.
    mutating func read(_ connection: Connection) throws {
        let select = try connection.statement("SELECT stream, value FROM lk_cursor")
        defer { select.reset() }
        while try select.step() {
            cursors[StreamID(unchecked: select.bytes(0))] = Cursor(unchecked: select.bytes(1))
        }
        let edges = try connection.statement(
            "SELECT stream, after, next FROM lk_edge WHERE passed IS NULL"
        )
        defer { edges.reset() }
        while try edges.step() {
            let page = SyncPage(
                stream: StreamID(unchecked: edges.bytes(0)),
                after: edges.bytes(1).isEmpty ? nil : Cursor(unchecked: edges.bytes(1)),
                next: Cursor(unchecked: edges.bytes(2))
            )
            waiting[page.stream, default: 0] += 1
            add(page)
        }
        let table = PacketTable(connection)
        for entry in try table.entries() {
            if entry.format == .eventLines {
                if let packet = try table.packet(entry.name) { add(packet) }
            } else if let page = entry.page {
                add(page)
            }
        }
    }

    /// What was found.
    func progress(_ contract: ServerContract) -> [StreamProgress] {
        let streams = Set(cursors.keys).union(pages.keys).union(contract.streams.keys)
        return streams.sorted().map { stream in
            StreamProgress(
                stream: stream,
                processed: cursors[stream],
                received: received(stream),
                waitingPageCount: waiting[stream] ?? 0,
                contract: contract.delivery(of: stream)
            )
        }
    }

    private func received(_ stream: StreamID) -> Cursor? {
        var cursor = cursors[stream]
        guard let pages = pages[stream] else { return cursor }
        // A server that leads in a circle is followed once around.
        var met: Set<Cursor?> = []
        while met.insert(cursor).inserted, let next = pages[cursor] { cursor = next }
        return cursor
    }

    private mutating func add(_ page: SyncPage) {
        guard page.next != page.after else { return }
        let known = pages[page.stream]?[page.after]
        guard known.map({ page.next < $0 }) ?? true else { return }
        pages[page.stream, default: [:]][page.after] = page.next
    }
}
