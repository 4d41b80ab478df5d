-- The index of messages' texts. It follows behind the commits: what is not in it yet is known from
-- `through` and lk_search_dirty, and is looked at row by row (6). The FTS5 table lk_search itself is
-- made by the first program whose SQLite has FTS5, and stands beside these tables.

CREATE TABLE lk_search_state (
    id          INTEGER PRIMARY KEY CHECK (id = 1),
    -- Rows of lk_message above this are not in the index.
    through     INTEGER NOT NULL DEFAULT 0 CHECK (through >= 0),
    -- The rules by which texts were folded; 0: there is no index, or it must be made anew.
    folding     INTEGER NOT NULL DEFAULT 0,
    -- Batches since the index's segments were last merged.
    unmerged    INTEGER NOT NULL DEFAULT 0,
    -- Texts taken out whose parts still stand in old segments; whether those are being rewritten;
    -- and when they last were, in milliseconds since 1970.
    removed     INTEGER NOT NULL DEFAULT 0,
    rewriting   INTEGER NOT NULL DEFAULT 0,
    rewritten_at INTEGER NOT NULL DEFAULT 0
);

INSERT INTO lk_search_state (id) VALUES (1);

-- Rows at or below `through` that are not in the index: their text came or changed later.
CREATE TABLE lk_search_dirty (
    message INTEGER PRIMARY KEY,
    -- There is no number left for it in the index.
    skipped INTEGER NOT NULL DEFAULT 0
);

-- What the index holds of each message. `doc` is (hour of the message's time << 20) + a number in
-- that hour, so that the index is read from the newest hour to the oldest. The texts are folded and
-- end with two U+0001, so that each of their characters begins a group of three.
CREATE TABLE lk_search_text (
    doc     INTEGER PRIMARY KEY,
    message INTEGER NOT NULL UNIQUE,
    text    TEXT NOT NULL,
    -- Three characters of private use that stand for the conversation, and for the sender.
    conversation TEXT NOT NULL,
    sender  TEXT NOT NULL
);

-- Text that an app supplied for finding a message as it stands: a reading, another script. It goes with
-- the text that it was supplied for.
CREATE TABLE lk_search_supplied (
    message INTEGER PRIMARY KEY,
    text    TEXT NOT NULL
);
