import Glibc
import LockkeeperPlatform
import LockkeeperTestSupport
import Synchronization
import Testing

/// The one wrapper of system calls. Hooks are the process's, so that they look at the path.
/// The fault hook is one for the process: who installs one runs alone among these.
@Suite(.serialized) enum FaultHookTests {}

extension FaultHookTests {
    @Suite(.serialized)
    struct SystemCallTests {
        @Test("A failed call names itself, its reason and its path")
        func failureIsNamed() {
            let error = #expect(throws: SystemCallError.self) {
                _ = try FileDescriptor(opening: "/nonexistent/file")
            }
            #expect(error?.call == .open)
            #expect(error?.errno == .noSuchFile)
            #expect(
                error?.description
                    == "open /nonexistent/file: ENOENT: No such file or directory"
            )
        }

        @Test("An unknown error number is still described")
        func unknownErrno() {
            #expect(Errno(rawValue: 4242).description.hasPrefix("errno 4242"))
            #expect(Errno.noSpace.description == "ENOSPC: No space left on device")
        }

        @Test("An interrupted call is repeated until it goes through")
        func interruptedCallIsRepeated() throws {
            let directory = try TemporaryDirectory()
            let path = directory.file("interrupted")
            let interruptions = Atomic<Int>(0)
            SystemFault.install { call, place in
                guard call == .open, place == path else { return nil }
                return interruptions.add(1, ordering: .relaxed).newValue <= 3 ? .interrupted : nil
            }
            defer { SystemFault.install(nil) }
            _ = try FileDescriptor(opening: path, [.create, .writeOnly])
            #expect(interruptions.load(ordering: .relaxed) == 4)
        }

        @Test("An installed fault is thrown instead of making the call, and gone when removed")
        func faultIsThrown() throws {
            let directory = try TemporaryDirectory()
            let path = directory.file("refused")
            SystemFault.install { call, place in call == .mkdir && place == path ? .noSpace : nil }
            let error = #expect(throws: SystemCallError.self) { try FileSystem.makeDirectory(path) }
            #expect(error?.errno == .noSpace)
            #expect(try FileSystem.status(path) == nil)
            SystemFault.install(nil)
            try FileSystem.makeDirectory(path)
            #expect(try FileSystem.status(path)?.kind == .directory)
        }

        @Test("A descriptor that is not open is a programmer's error and traps")
        func badDescriptorTraps() async {
            await #expect(processExitsWith: .failure) {
                let file = FileDescriptor(owning: 987)
                _ = try file.status()
            }
        }
    }

    /// Durable replacement under failures of each of its calls (I-12).
    @Suite(.serialized)
    struct ReplaceFileTests {
        @Test("The new content replaces the old one, with the mode, and leaves nothing else")
        func replaces() throws {
            let directory = try TemporaryDirectory()
            let path = directory.file("state")
            try FileSystem.replaceFile(at: path, with: bytes("one"))
            try FileSystem.replaceFile(at: path, with: bytes("two"))
            #expect(try FileSystem.contents(of: path) == bytes("two"))
            #expect(try FileSystem.status(path)?.mode == 0o600)
            #expect(try FileSystem.list(directory.path) == ["state"])
        }

        @Test(
            "A failing call leaves the old content and no temporary file",
            arguments: [SystemCall.open, .rename]
        )
        func failureKeepsOldContent(call: SystemCall) throws {
            let directory = try TemporaryDirectory()
            let path = directory.file("state")
            try FileSystem.replaceFile(at: path, with: bytes("old"))
            let prefix = directory.path + "/state."
            SystemFault.install { made, place in
                made == call && place?.hasPrefix(prefix) == true ? .noSpace : nil
            }
            defer { SystemFault.install(nil) }
            #expect(throws: SystemCallError.self) {
                try FileSystem.replaceFile(at: path, with: bytes("new"))
            }
            #expect(try FileSystem.contents(of: path) == bytes("old"))
            #expect(try FileSystem.list(directory.path) == ["state"])
        }

        @Test("A temporary name that a dead process left behind is passed over")
        func leftoverNameIsPassedOver() throws {
            let directory = try TemporaryDirectory()
            let path = directory.file("state")
            let attempts = Atomic<Int>(0)
            SystemFault.install { call, place in
                guard call == .open, place?.hasPrefix(path + ".") == true else { return nil }
                return attempts.add(1, ordering: .relaxed).newValue == 1 ? .fileExists : nil
            }
            defer { SystemFault.install(nil) }
            try FileSystem.replaceFile(at: path, with: bytes("new"))
            #expect(try FileSystem.contents(of: path) == bytes("new"))
        }
    }
}
