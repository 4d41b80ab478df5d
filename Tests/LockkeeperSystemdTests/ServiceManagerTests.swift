import Glibc
import Testing

@testable import LockkeeperSystemd

/// Each case that needs NOTIFY_SOCKET runs in a process of its own: an environment cannot be
/// changed while other threads may read it.
@Suite struct ServiceManagerTests {
    @Test("without a service manager nothing is sent and the library is not opened")
    func noManager() async {
        await #expect(processExitsWith: .success) {
            unsetenv("NOTIFY_SOCKET")
            #expect(try ServiceManager.notify(.ready) == false)
            try #require(!isLibraryLoaded())
        }
    }

    @Test("the service manager is told ready, status and stopping, one datagram each")
    func told() async {
        await #expect(processExitsWith: .success) {
            let socket = try NotifySocket()
            for (notification, expected) in [
                (ServiceManager.Notification.ready, "READY=1"),
                (.status("2 accounts"), "STATUS=2 accounts"),
                (.stopping, "STOPPING=1"),
            ] {
                try #require(try ServiceManager.notify(notification))
                try #require(socket.receive() == expected)
            }
            try #require(isLibraryLoaded())
        }
    }

    @Test("a service manager that is not there any more is an error with its number")
    func gone() async {
        await #expect(processExitsWith: .success) {
            setenv("NOTIFY_SOCKET", "/nonexistent/notify", 1)
            let error = #expect(throws: ServiceManagerError.self) {
                try ServiceManager.notify(.ready)
            }
            try #require(error?.errorNumber == ENOENT)
        }
    }

    @Test("a status with newlines or NUL stays one assignment")
    func statusIsOneLine() {
        #expect(
            ServiceManager.assignment(for: .status("a\nSTOPPING=1\0b")) == "STATUS=a STOPPING=1 b"
        )
    }
}

@Suite struct JournalTests {
    @Test("without a journal, or with a stream that is not the error stream, lines stay lines")
    func noJournal() async {
        await #expect(processExitsWith: .success) {
            unsetenv("JOURNAL_STREAM")
            try #require(!Journal.isStandardError)
            for stream in ["", "nonsense", "1:2", "1:"] {
                setenv("JOURNAL_STREAM", stream, 1)
                try #require(!Journal.isStandardError, "\(stream)")
            }
            try #require(!isLibraryLoaded())
        }
    }

    @Test("the error stream is the journal where JOURNAL_STREAM names its device and inode")
    func journal() async {
        await #expect(processExitsWith: .success) {
            var status = stat()
            fstat(2, &status)
            setenv("JOURNAL_STREAM", "\(status.st_dev):\(status.st_ino)", 1)
            try #require(Journal.isStandardError)
            setenv("JOURNAL_STREAM", "\(status.st_dev):\(status.st_ino + 1)", 1)
            try #require(!Journal.isStandardError)
        }
    }
}

/// Whether the process has libsystemd mapped.
private func isLibraryLoaded() -> Bool {
    guard let library = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_NOLOAD) else { return false }
    dlclose(library)
    return true
}

/// What a service manager listens on: a datagram socket with an abstract name.
private struct NotifySocket {
    private let descriptor: Int32

    init() throws {
        let name = "@lockkeeper-notify-test-\(getpid())"
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { path in
            // An abstract name begins with NUL where its written form begins with "@".
            path.copyBytes(from: [0] + Array(name.utf8.dropFirst()))
        }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + name.utf8.count)
        let status = withUnsafePointer(to: address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        try #require(status == 0)
        setenv("NOTIFY_SOCKET", name, 1)
    }

    func receive() -> String {
        var buffer = [UInt8](repeating: 0, count: 1024)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    }
}
