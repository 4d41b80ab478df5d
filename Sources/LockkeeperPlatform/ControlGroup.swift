/// What a process's control group says about it.
enum ControlGroup {
    /// Whether the process is frozen, by cgroup v2 or by the v1 freezer. A frozen process looks
    /// like a sleeping one in `/proc/<pid>/stat`. What cannot be read counts as not frozen: the
    /// answer is for people.
    static func isFrozen(pid: Int32) -> Bool {
        guard let content = try? FileSystem.contents(of: "/proc/\(pid)/cgroup") else {
            return false
        }
        // Each line is "<hierarchy>:<controllers>:<path>"; v2's is "0::<path>".
        return content.split(separator: UInt8(ascii: "\n")).contains { line in
            let fields = line.split(
                separator: UInt8(ascii: ":"),
                maxSplits: 2,
                omittingEmptySubsequences: false
            ).map { String(decoding: $0, as: UTF8.self) }
            guard fields.count == 3 else { return false }
            if fields[0] == "0" && fields[1].isEmpty { return isFrozen(unifiedPath: fields[2]) }
            if fields[1].split(separator: ",").contains("freezer") {
                return says("FROZEN", in: "/sys/fs/cgroup/freezer\(fields[2])/freezer.state")
            }
            return false
        }
    }

    /// The unified hierarchy stands at the mount point itself, or below it beside v1 hierarchies.
    private static func isFrozen(unifiedPath path: String) -> Bool {
        ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].contains { mount in
            says("frozen 1", in: "\(mount)\(path)/cgroup.events")
        }
    }

    private static func says(_ line: String, in path: String) -> Bool {
        guard let content = try? FileSystem.contents(of: path, limit: 4096) else { return false }
        return content.split(separator: UInt8(ascii: "\n")).contains { $0.elementsEqual(line.utf8) }
    }
}
