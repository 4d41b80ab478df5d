package import LockkeeperDomain
import LockkeeperNotifier

extension ChangeRange {
    /// Writes the range as it travels between processes, for commands that print it.
    package func write(into writer: inout JSONWriter) { NotifierLine.write(self, into: &writer) }
}
