-- Settings: one row per setting that somebody has set. Defaults are registered by programs and never
-- stood here. How a value is written is described with the type that writes it.

CREATE TABLE lk_setting (
    id    INTEGER PRIMARY KEY,
    name  TEXT NOT NULL UNIQUE,
    value BLOB NOT NULL
);
