-- Messages whose rows a purge removed: the first 16 bytes of the SHA-256 of their ids, so that what
-- comes of them without a place, a push for example, does not bring them back (M-7).
CREATE TABLE lk_purged (
    id           INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES lk_conversation (id),
    digest       BLOB NOT NULL CHECK (length(digest) = 16),
    UNIQUE (conversation, digest)
);
