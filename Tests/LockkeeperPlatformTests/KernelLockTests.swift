import LockkeeperPlatform
import LockkeeperTestSupport
import Testing

@Suite("What the kernel lists of locks")
struct KernelLockTests {
    @Test("lines of fdinfo and of /proc/locks give locks; other lines and waits give nothing")
    func lines() {
        let text = """
            pos:\t0
            flags:\t02100002
            ino:\t1835
            lock:\t1: OFDLCK  ADVISORY  WRITE -1 fe:00:1835 1073741844 1073741844
            lock:\t2: OFDLCK  ADVISORY  READ -1 fe:00:1835 100 EOF
            3: POSIX  ADVISORY  WRITE 17 fe:101:1835 1 2
            3: -> POSIX  ADVISORY  WRITE 18 fe:00:1835 1 2
            4: FLOCK  ADVISORY  WRITE 19 fe:00:7 0 EOF
            lock:
            5: POSIX  ADVISORY  WRITE x fe:00:1835 1 2
            6: POSIX  ADVISORY  WRITE 17 fe:00 1 2
            7: POSIX  ADVISORY  WRITE 17 fe:00:1835 2 1
            """
        let locks = KernelLock.list(in: Array(text.utf8))
        #expect(locks.count == 4)
        #expect(
            locks.map(\.kind) == [.openFileDescription, .openFileDescription, .process, .other]
        )
        #expect(locks.map(\.isExclusive) == [true, false, true, true])
        #expect(locks.map(\.pid) == [-1, -1, 17, 19])
        #expect(locks.first?.covers(1_073_741_844) == true)
        #expect(locks.first?.covers(1_073_741_845) == false)
        #expect(locks[1].covers(1 << 40) && !locks[1].covers(99))
        #expect(locks[2].file == FileIdentity(device: 0xfe << 8 | 0x01 | 0x100 << 12, inode: 1835))
    }

    @Test("a lock of this process on a file is found in /proc/locks by the file's identity")
    func own() throws {
        let folder = try TemporaryDirectory()
        let path = folder.file("locked")
        let lock = try LockDescriptor(opening: path)
        #expect(try lock.tryLock(42, .exclusive))
        let file = try #require(try FileSystem.status(path)).identity
        let found = try KernelLock.all().filter { $0.file == file }
        #expect(found.map(\.bytes) == [42...42] && found.first?.kind == .openFileDescription)
        #expect(found.first?.isExclusive == true)
    }
}
