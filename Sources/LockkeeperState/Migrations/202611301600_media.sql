-- Media: what there is or should be of each file, and the content of small ones. Large content is a file
-- that its digest names. It stands in the settings' file, because fetching it again is dear: a rebuild
-- of the messages leaves it alone.

CREATE TABLE lk_media (
    id         INTEGER PRIMARY KEY,
    media_id   BLOB NOT NULL UNIQUE,
    state      TEXT NOT NULL
        CHECK (state IN ('wanted', 'downloading', 'present', 'failed', 'evicted')),
    -- 'cache' may be evicted and is in no backup.
    retention  TEXT NOT NULL CHECK (retention IN ('kept', 'cache')),
    -- What is expected before the content is there, what it is afterwards.
    byte_count INTEGER CHECK (byte_count >= 0),
    digest     BLOB CHECK (length(digest) = 32),
    attempts   INTEGER NOT NULL DEFAULT 0,
    -- Why the last attempt failed, for people.
    failure    TEXT,
    -- The process that fetches it, as a process is told from a later one of its number.
    claimer    TEXT,
    -- Grows with each use: what is smallest is evicted first.
    used       INTEGER NOT NULL DEFAULT 0,
    CHECK (state <> 'present' OR (byte_count IS NOT NULL AND digest IS NOT NULL)),
    CHECK ((state = 'downloading') = (claimer IS NOT NULL))
);

CREATE INDEX lk_media_state ON lk_media (state, media_id);
CREATE INDEX lk_media_digest ON lk_media (digest) WHERE state = 'present';
CREATE INDEX lk_media_use ON lk_media (used) WHERE state = 'present' AND retention = 'cache';

-- The content of files that are too small for one of their own, once for all media that have it.
CREATE TABLE lk_media_content (
    id     INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
    bytes  BLOB NOT NULL
);
