import LockkeeperPlatform

/// Where a scenario of the benchmark runs, and whom it tells.
package struct BenchSite: Sendable {
    /// The path of `lockkeeper`, whose processes are measured.
    let program: String
    /// The path of the program in C that does what a helper does.
    let baseline: String
    /// An empty folder on the disk that is measured, by its canonical path.
    let root: String
    /// Told of each measurement as it is made.
    let note: @Sendable (String) -> Void

    /// A site.
    ///
    /// - Parameters:
    ///   - root: an empty folder on the disk that is to be measured.
    ///   - baseline: the path of the program in C; `nil`: it lies beside `lockkeeper`.
    /// - Throws: ``SystemCallError`` where the folder cannot be made.
    package init(
        program: String,
        root: String,
        baseline: String? = nil,
        note: @escaping @Sendable (String) -> Void
    ) throws {
        try FileSystem.makeDirectory(root, mode: 0o700)
        self.program = program
        let folder = FileSystem.directory(of: program)
        self.baseline = baseline ?? "\(folder)/lockkeeper-baseline"
        self.root = try FileSystem.canonicalPath(root)
        self.note = note
    }

    /// What the benchmark runs on. Blocks the thread while it tries the disk.
    ///
    /// - Throws: ``SystemCallError`` where the folder cannot be written to.
    package func machine() throws -> BenchMachine {
        try BenchMachine(at: root, program: program)
    }

    /// Makes a folder for one measurement, lets it be made, and removes the folder.
    func withFolder<Value>(
        _ name: String,
        _ body: (String) async throws -> Value
    ) async throws -> Value {
        let folder = "\(root)/\(name)"
        try FileSystem.makeDirectory(folder, mode: 0o700)
        let value: Value
        do {
            value = try await body(folder)
        } catch {
            // What went wrong is what matters; the folder lies in one that is removed or looked at.
            _ = try? FileSystem.removeTree(folder)
            throw error
        }
        try FileSystem.removeTree(folder)
        return value
    }
}
