import LockkeeperDomain
import LockkeeperPlatform
import LockkeeperSQLite

/// The full-text index as an FTS5 table, and whether the SQLite that is loaded can have one.
enum SearchLibrary {
    /// Why this process cannot index texts, as a sentence; `nil` where it can. Tried once, on a
    /// database in memory: compile options and version numbers say less.
    static let shortcoming: String? = {
        do throws(SQLiteError) {
            let connection = try Connection(
                path: ":memory:",
                mode: .readWrite,
                clock: SystemClock(),
                busyDeadline: .never,
                jitterSeed: 0
            )
            try connection.execute(textTable)
            try connection.execute(creation)
            try connection.close()
            return nil
        } catch {
            return "SQLite \(SQLiteLibrary.version) has no full-text index as it is needed"
                + " (\(error.message))"
        }
    }()

    private static let textTable = """
        CREATE TABLE lk_search_text (doc INTEGER PRIMARY KEY, text, conversation, sender)
        """

    /// Makes the index over `lk_search_text`, and the list of its groups of three characters.
    ///
    /// Each group is kept with the messages that hold it and not with its places in them: that takes
    /// a third of the room and says less of a text. Segments are merged by ``SearchIndexer``, in
    /// small steps, and not within the transactions that add to them.
    static let creation = """
        CREATE VIRTUAL TABLE lk_search USING fts5(text, conversation, sender,
            content = 'lk_search_text', content_rowid = 'doc', columnsize = 0, detail = none,
            tokenize = 'trigram case_sensitive 1');
        INSERT INTO lk_search (lk_search, rank) VALUES ('automerge', 0);
        INSERT INTO lk_search (lk_search, rank) VALUES ('usermerge', 8);
        INSERT INTO lk_search (lk_search, rank) VALUES ('crisismerge', 64);
        CREATE VIRTUAL TABLE lk_search_terms USING fts5vocab(lk_search, instance);
        """

    /// Takes both away.
    static let removal = """
        DROP TABLE IF EXISTS lk_search_terms;
        DROP TABLE IF EXISTS lk_search;
        """

    /// The tables of search, which are nobody's news: what is found follows from the messages.
    static let tables: Set<String> = [
        "lk_search", "lk_search_terms", "lk_search_state", "lk_search_dirty", "lk_search_text",
        "lk_search_supplied", "lk_search_data", "lk_search_idx", "lk_search_config",
    ]
}

extension SQLiteError {
    /// Whether a virtual table says that what it holds is damaged, as opposed to the database.
    var isDamagedIndex: Bool { code == .damagedVirtualTable }
}
