-- Messages, their conversations, the cursors of their streams, and what could not be merged.
-- Ids, cursors and texts are UTF-8 stored as TEXT and compared as bytes (BINARY); they may contain
-- NUL. Instants are milliseconds since 1970 UTC. Absent fields are NULL: defaults are applied on
-- reading, because a stored default would beat a real value that comes later (M-2).

-- The number of the merge rules that merged what is stored. A program with a smaller number does not
-- ingest; one with a larger number offers again what was kept for later ones.
CREATE TABLE lk_merge_rules (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    number INTEGER NOT NULL
);

INSERT INTO lk_merge_rules (id, number) VALUES (1, 1);

CREATE TABLE lk_conversation (
    id              INTEGER PRIMARY KEY,
    conversation_id TEXT NOT NULL UNIQUE,
    -- The summary: the row of the last message by (place, message_id), and its place and time (M-14).
    last_message    INTEGER,
    last_place      INTEGER,
    last_at         INTEGER,
    -- The first bytes of its text, cut between two characters where they are not all of it
    -- (`MessagePreview`), so that a list reads no large texts; NULL where it has none.
    last_preview    TEXT,
    last_is_cut     INTEGER,
    -- The largest seq that any message was ever given: above it a place cannot be taken.
    top_seq         INTEGER NOT NULL DEFAULT 0,
    -- The account's own read position; NULL: unknown, and then unread is unknown too (M-9).
    read_seq        INTEGER,
    unread          INTEGER,
    unread_mentions INTEGER,
    -- Everything up to here is gone (M-7); NULL: nothing was cleared.
    clear_seq       INTEGER CHECK (clear_seq > 0),
    -- What is known about the conversation itself: registers like those of a message (M-2), with the
    -- bits of `ConversationField`.
    version         INTEGER NOT NULL DEFAULT 0,
    registers       TEXT,
    title           TEXT,
    kind            TEXT,
    muted           INTEGER,
    pinned          INTEGER,
    archived        INTEGER,
    marked_unread   INTEGER,
    parent          TEXT,
    extra           TEXT,
    CHECK ((read_seq IS NULL) = (unread IS NULL)),
    CHECK ((read_seq IS NULL) = (unread_mentions IS NULL)),
    CHECK ((last_message IS NULL) = (last_place IS NULL)),
    CHECK ((last_preview IS NULL) = (last_is_cut IS NULL))
);

-- The order in which conversations are listed (M-14). One that was cleared is hidden until a message
-- above comes (M-7).
CREATE INDEX lk_conversation_list
ON lk_conversation (ifnull(pinned, 0) DESC, last_at DESC, conversation_id)
WHERE clear_seq IS NULL OR last_message IS NOT NULL;

-- Who is in a conversation: registers per person (M-2), with the bits of `MemberField`.
CREATE TABLE lk_member (
    id           INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES lk_conversation (id),
    person       TEXT NOT NULL,
    version      INTEGER NOT NULL,
    registers    TEXT,
    role         TEXT,
    removed      INTEGER NOT NULL,
    extra        TEXT,
    UNIQUE (conversation, person)
);

-- What of a conversation's history is known to be complete: ranges that neither meet nor touch (M-13).
CREATE TABLE lk_history (
    id           INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES lk_conversation (id),
    from_seq     INTEGER NOT NULL CHECK (from_seq > 0),
    to_seq       INTEGER NOT NULL CHECK (to_seq >= from_seq),
    UNIQUE (conversation, from_seq)
);

-- `MessageRow` reads the columns in this order.
CREATE TABLE lk_message (
    id           INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES lk_conversation (id),
    message_id   TEXT NOT NULL,
    -- 0 waits for its seq and sender, 1 is shown, 2 was recalled and is shown without text, 3 was
    -- recalled and waits for seq and sender, 4 is gone: deleted, cleared or expired.
    state        INTEGER NOT NULL CHECK (state BETWEEN 0 AND 4),
    -- The largest version of the registers below; those that stand at a smaller one are in
    -- `registers` as JSON: [[version, mask], …] with the bits of `MessageField` (M-2). The mask of the
    -- version -1 are those whose version nobody but the account itself has named (M-4).
    version      INTEGER NOT NULL CHECK (version >= 0),
    registers    TEXT,
    seq          INTEGER CHECK (seq > 0),
    sender       TEXT,
    sent_at      INTEGER,
    kind         TEXT,
    counts       INTEGER,
    incoming     INTEGER,
    server_at    INTEGER,
    client_id    TEXT,
    reply_to     TEXT,
    mentions_me  INTEGER,
    expires_at   INTEGER,
    edited_by    TEXT,
    edited_at    INTEGER,
    -- What may be large comes last, so that nobody goes through its pages for what is small.
    body         TEXT,
    mentions     TEXT,
    attachments  TEXT,
    extra        TEXT,
    -- The largest (version, by) of the recalls (M-6).
    recall_version INTEGER,
    recall_by      TEXT,
    -- The smallest and largest seq that any event gave the message, where that is not `seq`: what was
    -- cleared or read by one of them stays so, whichever comes first (M-7, M-9).
    least_seq    INTEGER,
    most_seq     INTEGER,
    -- Senders that events named beside `sender`, as a JSON array: each of them is an author (M-5).
    -- Kept under the contract *author* only.
    other_senders TEXT,
    -- Where the message stands: provisional ones, which have no seq, come last (M-1).
    place        INTEGER NOT NULL AS (ifnull(seq, 9223372036854775807)) VIRTUAL,
    CHECK (state NOT IN (2, 3) OR recall_version IS NOT NULL),
    CHECK (state < 2 OR (body IS NULL AND mentions IS NULL AND attachments IS NULL
        AND extra IS NULL)),
    UNIQUE (conversation, message_id)
);

-- The order in which a conversation is shown (M-14): the rows that are shown and no others.
CREATE INDEX lk_message_place ON lk_message (conversation, place, message_id)
WHERE state IN (1, 2);

-- Who holds a place beside those that are shown.
CREATE INDEX lk_message_hidden ON lk_message (conversation, place) WHERE state IN (0, 3, 4);

-- Rows that wait are counted and bounded (M-1).
CREATE INDEX lk_message_waiting ON lk_message (conversation) WHERE state = 0;

-- A clear reaches what once stood below it.
CREATE INDEX lk_message_least ON lk_message (conversation, least_seq) WHERE least_seq IS NOT NULL;

-- What ends to be shown by itself: the oldest of all, and those of one conversation.
CREATE INDEX lk_message_expiry ON lk_message (expires_at)
WHERE expires_at IS NOT NULL AND state = 1;

CREATE INDEX lk_message_expiry_within ON lk_message (conversation, expires_at)
WHERE expires_at IS NOT NULL AND state = 1;

-- The last look at the clocks by which expired messages are removed, in milliseconds: one row
-- (`ExpiryClock`).
CREATE TABLE lk_expiry_clock (
    id           INTEGER PRIMARY KEY CHECK (id = 1),
    boot         BLOB NOT NULL,
    monotonic    INTEGER NOT NULL,
    wall         INTEGER NOT NULL,
    steady_since INTEGER NOT NULL
);

-- What people have put on messages: a register of (version, value) per person and slot (M-8).
CREATE TABLE lk_reaction (
    id      INTEGER PRIMARY KEY,
    message INTEGER NOT NULL REFERENCES lk_message (id),
    person  TEXT NOT NULL,
    slot    TEXT NOT NULL,
    version INTEGER NOT NULL,
    removed INTEGER NOT NULL,
    emoji   TEXT NOT NULL,
    extra   TEXT,
    -- Whether nobody but the account itself has named the version (M-4).
    guessed INTEGER NOT NULL DEFAULT 0 CHECK (guessed IN (0, 1)),
    UNIQUE (message, person, slot)
);

-- Edits and recalls that wait until the sender of their message is known (M-5), as lines.
CREATE TABLE lk_fact (
    id      INTEGER PRIMARY KEY,
    message INTEGER NOT NULL REFERENCES lk_message (id),
    line    BLOB NOT NULL,
    UNIQUE (message, line)
);

-- How far others, and the account's other devices, have read or received (M-9).
CREATE TABLE lk_position (
    id           INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES lk_conversation (id),
    person       TEXT NOT NULL,
    kind         TEXT NOT NULL,
    seq          INTEGER NOT NULL CHECK (seq >= 0),
    UNIQUE (conversation, person, kind)
);

-- Positions that name a message (M-9): they wait until it has a seq, and the largest few are kept
-- afterwards, because the message may be given a larger one.
CREATE TABLE lk_position_message (
    id           INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES lk_conversation (id),
    message      INTEGER NOT NULL REFERENCES lk_message (id),
    person       TEXT NOT NULL,
    kind         TEXT NOT NULL,
    UNIQUE (message, person, kind)
);

CREATE INDEX lk_position_message_person
ON lk_position_message (conversation, person, kind, message);

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
    -- The place that it claims, where that was refused, so that a clear takes it out.
    seq          INTEGER,
    -- Why, as a sentence without message text.
    explanation  TEXT NOT NULL,
    -- The bytes, the first MiB of them, and how many there were.
    content      BLOB NOT NULL,
    kept_count   INTEGER NOT NULL AS (length(content)) STORED,
    byte_count   INTEGER NOT NULL,
    count        INTEGER NOT NULL,
    first_at     INTEGER NOT NULL,
    last_at      INTEGER NOT NULL,
    -- Whether a person has accepted it: its content is merged and no more kept here, and where it comes
    -- again it is taken.
    accepted     INTEGER NOT NULL DEFAULT 0 CHECK (accepted IN (0, 1)),
    UNIQUE (reason, digest)
);

-- A recall takes out what was put aside about its message.
CREATE INDEX lk_quarantine_message ON lk_quarantine (conversation_id, message_id)
WHERE message_id IS NOT NULL;

-- How much is put aside: counted before each new row (I-9).
CREATE INDEX lk_quarantine_size ON lk_quarantine (kept_count);
