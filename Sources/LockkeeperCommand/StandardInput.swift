import LockkeeperPlatform

/// The program's standard input, for commands that read it.
enum StandardInput {
    /// Takes the descriptor over. To be called once.
    ///
    /// - Throws: ``SystemCallError`` where the program was started without an input: nothing was said
    ///   then, which is not the same as that there is nothing.
    static func open() throws(SystemCallError) -> FileDescriptor {
        let input = FileDescriptor(owning: 0)
        guard try input.isReadable else {
            throw SystemCallError(call: .read, errno: .badDescriptor, path: "standard input")
        }
        return input
    }
}
