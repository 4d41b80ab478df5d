/// The bytes on which SQLite locks a database that has a write-ahead log: part of its file format,
/// <https://www.sqlite.org/walformat.html#locks>. They are POSIX locks of processes, so that the
/// kernel can say who holds them, also of programs that know nothing of Lockkeeper.
package enum FileLockBytes {
    /// In the log's index: whoever is inside a write transaction.
    package static let writer: Int64 = 120
    /// In the log's index: whoever copies the log.
    package static let checkpointer: Int64 = 121
    /// In the log's index: whoever builds the index anew.
    package static let recovery: Int64 = 122
    /// In the log's index: the marks of readers. Each of them keeps the log from being copied past
    /// what its reader sees; the first belongs to those who read the database file alone, which
    /// must not change under them, so that it stops the copying altogether.
    package static let readers: ClosedRange<Int64> = 123...127
    /// In the log's index: everybody who has it open.
    package static let users: Int64 = 128
    /// In the database file: everybody who has it open; exclusive where somebody changes the journal
    /// mode, or keeps it for itself.
    package static let database: ClosedRange<Int64> = 0x4000_0000...0x4000_01ff
}
