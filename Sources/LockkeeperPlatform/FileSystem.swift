import CLockkeeperPlatform
import Glibc

/// What is done with paths.
package enum FileSystem {
    /// What the kernel says about the file at a path; `nil` where there is none.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package static func status(
        _ path: String,
        followingLinks: Bool = true
    ) throws(SystemCallError) -> FileStatus? {
        var status = Glibc.stat()
        do throws(SystemCallError) {
            if followingLinks {
                _ = try system(.stat, path: path) { stat(path, &status) }
            } else {
                _ = try system(.lstat, path: path) { lstat(path, &status) }
            }
        } catch {
            if error.errno == .noSuchFile || error.errno == .notDirectory { return nil }
            throw error
        }
        return FileStatus(status)
    }

    /// The whole content of a file, or its first `limit` bytes.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package static func contents(
        of path: String,
        limit: Int = .max
    ) throws(SystemCallError) -> [UInt8] {
        try FileDescriptor(opening: path).readToEnd(limit: limit)
    }

    /// Makes a directory; does nothing where one is there already.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses, or with `ENOTDIR` when something else
    ///   has the name.
    package static func makeDirectory(
        _ path: String,
        mode: UInt32 = 0o700
    ) throws(SystemCallError) {
        do throws(SystemCallError) {
            _ = try system(.mkdir, path: path) { mkdir(path, mode) }
        } catch {
            guard error.errno == .fileExists else { throw error }
            if try status(path)?.kind == .directory { return }
            throw SystemCallError(call: .mkdir, errno: .notDirectory, path: path)
        }
    }

    /// Removes a file's name.
    ///
    /// - Returns: Whether there was one.
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    @discardableResult
    package static func remove(_ path: String) throws(SystemCallError) -> Bool {
        do throws(SystemCallError) {
            _ = try system(.unlink, path: path) { unlink(path) }
            return true
        } catch {
            if error.errno == .noSuchFile { return false }
            throw error
        }
    }

    /// Removes an empty directory.
    ///
    /// - Returns: Whether there was one.
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    @discardableResult
    package static func removeDirectory(_ path: String) throws(SystemCallError) -> Bool {
        do throws(SystemCallError) {
            _ = try system(.rmdir, path: path) { rmdir(path) }
            return true
        } catch {
            if error.errno == .noSuchFile { return false }
            throw error
        }
    }

    /// Renames a file on the same file system; what has the new name is replaced in the same act.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package static func rename(
        _ source: String,
        to target: String
    ) throws(SystemCallError) {
        _ = try system(.rename, path: source) { Glibc.rename(source, target) }
    }

    /// Gives a file a second name, unless something has that name already.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses, `EEXIST` where the name is taken.
    package static func link(
        _ source: String,
        to target: String
    ) throws(SystemCallError) {
        _ = try system(.link, path: target) { Glibc.link(source, target) }
    }

    /// Lets two files of one file system have each other's names, in one act.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses, `ENOENT` where one is missing.
    package static func exchange(
        _ first: String,
        with second: String
    ) throws(SystemCallError) {
        _ = try system(.renameat2, path: second) { lk_exchange(first, second) }
    }

    /// Waits until the names in a directory are on the device. A new file's content survives a
    /// power failure only when its name does.
    ///
    /// - Throws: ``SystemCallError`` when the device fails.
    package static func syncDirectory(_ path: String) throws(SystemCallError) {
        try FileDescriptor(opening: path, .directory).sync()
    }

    /// The names in a directory without "." and "..", in no order.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package static func list(_ path: String) throws(SystemCallError) -> [String] {
        if let errno = SystemFault.fault(for: .opendir, path: { path }) {
            throw SystemCallError(call: .opendir, errno: errno, path: path)
        }
        guard let directory = opendir(path) else {
            throw SystemCallError(judging: .ofLastCall, of: .opendir, path: path)
        }
        defer { closedir(directory) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(directory) else {
                if errno == 0 { return names }
                throw SystemCallError(judging: .ofLastCall, of: .readdir, path: path)
            }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                tuple.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
    }

    /// The free bytes that a process without privileges may use on the file system of a path.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package static func freeBytes(at path: String) throws(SystemCallError) -> Int64 {
        var status = Glibc.statvfs()
        _ = try system(.statvfs, path: path) { statvfs(path, &status) }
        let (bytes, overflow) = Int64(clamping: status.f_bavail)
            .multipliedReportingOverflow(by: Int64(clamping: status.f_frsize))
        return overflow ? .max : bytes
    }

    /// The kind of file system that holds a path.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package static func fileSystemKind(
        at path: String
    ) throws(SystemCallError) -> FileSystemKind {
        var magic: UInt32 = 0
        _ = try system(.statfs, path: path) { lk_filesystem_magic(path, &magic) }
        return FileSystemKind(magic: magic)
    }

    /// The one name of an existing file without links and dots, so that a root which is reached
    /// under two names is recognised as one (B27).
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package static func canonicalPath(_ path: String) throws(SystemCallError) -> String {
        if let errno = SystemFault.fault(for: .realpath, path: { path }) {
            throw SystemCallError(call: .realpath, errno: errno, path: path)
        }
        guard let resolved = realpath(path, nil) else {
            throw SystemCallError(judging: .ofLastCall, of: .realpath, path: path)
        }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Removes a folder and everything in it. Links are removed, not followed.
    ///
    /// - Throws: ``SystemCallError`` when the kernel refuses.
    package static func removeTree(_ path: String) throws(SystemCallError) {
        for name in try list(path) {
            let child = "\(path)/\(name)"
            if try status(child, followingLinks: false)?.kind == .directory {
                try removeTree(child)
            } else {
                try remove(child)
            }
        }
        try removeDirectory(path)
    }

    /// The directory part of a path: "." where it has none.
    package static func directory(of path: String) -> String {
        guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        let directory = path[..<slash]
        return directory.isEmpty ? "/" : String(directory)
    }
}
