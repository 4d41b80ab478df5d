-- Credentials that a server has rejected: the newest writing of each service's secret that is known to
-- be of no use. Another writing of the secret has another revision, and is not rejected. Nothing of a
-- secret stands here.

CREATE TABLE lk_rejection (
    id          INTEGER PRIMARY KEY,
    service     TEXT NOT NULL UNIQUE,
    revision    BLOB NOT NULL CHECK (length(revision) = 16),
    -- Milliseconds since 1970, for people.
    rejected_at INTEGER NOT NULL
);
