-- Messages, their conversations, the cursors of their streams, and what could not be merged.
-- Ids, cursors and texts are UTF-8 stored as TEXT and compared as bytes (BINARY); they may contain
-- NUL. Instants are milliseconds since 1970 UTC. Absent fields are NULL: defaults are applied on
-- reading, because a stored default would beat a real value that comes later (M-2).

CREATE TABLE lk_conversation (
    id              INTEGER PRIMARY KEY,
    conversation_id TEXT NOT NULL UNIQUE,
    -- The summary: the row of the last message by (place, message_id), and its place and time (M-14).
    last_message    INTEGER,
    last_place      INTEGER,
    last_at         INTEGER,
    -- The largest seq that any message was ever given: above it a place cannot be taken.
    top_seq         INTEGER NOT NULL DEFAULT 0,
    -- The account's own read position; NULL: unknown, and then unread is unknown too (M-9).
    read_seq        INTEGER,
    unread          INTEGER,
    unread_mentions INTEGER,
    CHECK ((read_seq IS NULL) = (unread IS NULL)),
    CHECK ((read_seq IS NULL) = (unread_mentions IS NULL)),
    CHECK ((last_message IS NULL) = (last_place IS NULL))
);

CREATE TABLE lk_message (
    id           INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES lk_conversation (id),
    message_id   TEXT NOT NULL,
    -- 0 waits for its seq and sender, 1 is shown, 2 was recalled and keeps its place without text.
    state        INTEGER NOT NULL CHECK (state IN (0, 1, 2)),
    seq          INTEGER CHECK (seq > 0),
    -- Where the message stands: provisional ones, which have no seq, come last (M-1).
    place        INTEGER NOT NULL AS (ifnull(seq, 9223372036854775807)) VIRTUAL,
    -- The largest version of the registers below; those that stand at a smaller one are in
    -- `registers` as JSON: [[version, mask], …] with the bits of `MessageField` (M-2).
    version      INTEGER NOT NULL CHECK (version >= 0),
    registers    TEXT,
    sender       TEXT,
    sent_at      INTEGER,
    body         TEXT,
    kind         TEXT,
    counts       INTEGER,
    incoming     INTEGER,
    server_at    INTEGER,
    client_id    TEXT,
    reply_to     TEXT,
    mentions     TEXT,
    mentions_me  INTEGER,
    attachments  TEXT,
    expires_at   INTEGER,
    edited_by    TEXT,
    edited_at    INTEGER,
    extra        TEXT,
    -- The largest (version, by) of the recalls (M-6).
    recall_version INTEGER,
    recall_by      TEXT,
    CHECK (state <> 2 OR (recall_version IS NOT NULL AND body IS NULL AND attachments IS NULL)),
    UNIQUE (conversation, message_id)
);

-- The order in which a conversation is shown (M-14), and who holds a place.
CREATE INDEX lk_message_place ON lk_message (conversation, place, message_id);

-- Rows that wait are counted and bounded (M-1).
CREATE INDEX lk_message_waiting ON lk_message (conversation) WHERE state = 0;

-- How far others, and the account's other devices, have read or received (M-9).
CREATE TABLE lk_position (
    id           INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES lk_conversation (id),
    person       TEXT NOT NULL,
    kind         TEXT NOT NULL,
    seq          INTEGER NOT NULL CHECK (seq >= 0),
    UNIQUE (conversation, person, kind)
);

CREATE TABLE lk_cursor (
    id     INTEGER PRIMARY KEY,
    stream TEXT NOT NULL UNIQUE,
    value  TEXT NOT NULL,
    done   INTEGER NOT NULL DEFAULT 0
);

-- The edges of M-12. `after` is empty for the first page of a stream. `passed` counts the edges
-- that the cursor has followed; NULL waits for its predecessor.
CREATE TABLE lk_edge (
    id     INTEGER PRIMARY KEY,
    stream TEXT NOT NULL,
    after  TEXT NOT NULL,
    next   TEXT NOT NULL,
    done   INTEGER NOT NULL,
    passed INTEGER,
    UNIQUE (stream, after, next)
);

CREATE INDEX lk_edge_passed ON lk_edge (stream, passed);

-- What could not be merged, one row per (reason, content), with the count of times it came (M-3).
CREATE TABLE lk_quarantine (
    id           INTEGER PRIMARY KEY,
    reason       TEXT NOT NULL,
    digest       BLOB NOT NULL,
    -- The conversation and message that it speaks of, where that is known.
    conversation_id TEXT,
    message_id   TEXT,
    -- Why, as a sentence without message text.
    explanation  TEXT NOT NULL,
    -- The bytes, the first MiB of them, and how many there were.
    content      BLOB NOT NULL,
    byte_count   INTEGER NOT NULL,
    count        INTEGER NOT NULL,
    first_at     INTEGER NOT NULL,
    last_at      INTEGER NOT NULL,
    UNIQUE (reason, digest)
);

-- A recall takes out what was put aside about its message.
CREATE INDEX lk_quarantine_message ON lk_quarantine (conversation_id, message_id)
WHERE message_id IS NOT NULL;
