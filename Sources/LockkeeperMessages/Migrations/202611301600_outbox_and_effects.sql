-- What is to be done outside: messages and other acts of the account that the server must be told
-- (M-10), and effects of messages that people must be told (M-11). Written with the data that they
-- follow from, claimed by one process at a time, kept until they were answered.
--
-- Columns of both tables: `phase` 0 waits, 1 an attempt has begun, 2 an attempt had no answer and may
-- have reached the server, 3 parked. `attempt` numbers the attempts and only grows. `failures` and
-- `unanswered` count them since somebody last asked for a retry. `retry_boot` and `retry_at`, in
-- nanoseconds of the monotonic clock of that boot, say before when it is not tried again. `reason` is
-- why it is where it is. Whether a claimer lives is told by the lock on its byte, never by these rows.

CREATE TABLE lk_outbox (
    -- Never given again: a claimer that was overtaken must not meet another item under the number.
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    -- send, edit, recall, delete, reaction, clear, read, delivered
    act             TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    -- Of a message that is to be sent.
    client_id       TEXT UNIQUE,
    -- The message that another act is about; of one that was sent, what became of it.
    message_id      TEXT,
    -- Up to where a position or `clear` reaches.
    seq             INTEGER,
    -- The act as an event line; NULL once it has ended.
    content         TEXT,
    -- Milliseconds since 1970 UTC, for people.
    created_at      INTEGER NOT NULL,
    -- 4: it has ended. Only messages are remembered so, by their client id.
    phase           INTEGER NOT NULL DEFAULT 0 CHECK (phase BETWEEN 0 AND 4),
    attempt         INTEGER NOT NULL DEFAULT 0,
    failures        INTEGER NOT NULL DEFAULT 0,
    unanswered      INTEGER NOT NULL DEFAULT 0,
    retry_boot      BLOB,
    retry_at        INTEGER,
    reason          TEXT,
    -- Of a message that was sent from here: tells whether another one is sent under its client id. NULL
    -- once the message has no content any more.
    digest          BLOB,
    CHECK ((phase = 4) = (content IS NULL)),
    CHECK ((retry_boot IS NULL) = (retry_at IS NULL))
);

-- What is still to be done, by conversation and in its order.
CREATE INDEX lk_outbox_open ON lk_outbox (conversation_id, id) WHERE phase < 4;

-- What was sent and has its content still, by the message that it became: a recall takes the digest out.
CREATE INDEX lk_outbox_digest ON lk_outbox (conversation_id, message_id) WHERE digest IS NOT NULL;

-- Effects that are to be handed out, one row per message: `kind` 0 notify, 1 withdraw. `shown`: an
-- attempt that had no answer may have shown it.
CREATE TABLE lk_effect (
    message      INTEGER PRIMARY KEY,
    kind         INTEGER NOT NULL DEFAULT 0 CHECK (kind IN (0, 1)),
    phase        INTEGER NOT NULL DEFAULT 0 CHECK (phase IN (0, 1, 3)),
    shown        INTEGER NOT NULL DEFAULT 0 CHECK (shown IN (0, 1)),
    attempt      INTEGER NOT NULL DEFAULT 0,
    failures     INTEGER NOT NULL DEFAULT 0,
    unanswered   INTEGER NOT NULL DEFAULT 0,
    retry_boot   BLOB,
    retry_at     INTEGER,
    reason       TEXT,
    CHECK ((retry_boot IS NULL) = (retry_at IS NULL))
);

-- Messages whose notify was confirmed and that nothing has taken back yet.
CREATE TABLE lk_notified (
    message INTEGER PRIMARY KEY
);

-- Up to where a conversation notifies of nothing, and streams whose pages notify of nothing.
CREATE TABLE lk_notify_after (
    conversation INTEGER PRIMARY KEY,
    seq          INTEGER NOT NULL CHECK (seq >= 0)
);

CREATE TABLE lk_quiet_stream (
    id     INTEGER PRIMARY KEY,
    stream TEXT NOT NULL UNIQUE
);
