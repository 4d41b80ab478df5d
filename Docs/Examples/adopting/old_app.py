#!/usr/bin/env python3
"""The old app of the example: a database as FMDB and GRDB apps have it, made up.

    old_app.py DATABASE make COUNT     makes it, with COUNT messages in seven conversations
    old_app.py DATABASE later          the old app goes on: new rows, an edit, a recall, a position
    old_app.py events                  what the server sends meanwhile, as event lines

Local row ids, the server's ids beside them, seconds as REAL, states as small numbers, a list of migrations
that were applied: nothing of it knows of Lockkeeper.
"""

import json
import sqlite3
import sys

SCHEMA = """
CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
INSERT INTO grdb_migrations VALUES ('v1'), ('v2-reactions');

CREATE TABLE conversation (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    remote_id TEXT NOT NULL UNIQUE,
    title TEXT,
    is_muted BOOLEAN NOT NULL DEFAULT 0,
    is_pinned BOOLEAN NOT NULL DEFAULT 0,
    last_read_seq INTEGER,              -- NULL: never opened
    unread_count INTEGER NOT NULL DEFAULT 0,
    draft TEXT
);

CREATE TABLE message (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation_id INTEGER NOT NULL REFERENCES conversation (id),
    remote_id TEXT UNIQUE,              -- NULL until the server has confirmed it
    client_id TEXT,
    server_seq INTEGER,
    sender_id TEXT NOT NULL,
    text TEXT,
    sent_at REAL NOT NULL,              -- seconds since 1970
    edited_at REAL,
    status INTEGER NOT NULL DEFAULT 1,  -- 0 sending, 1 there, 2 failed, 3 recalled, 4 deleted for me
    reply_to_id INTEGER REFERENCES message (id)
);
CREATE INDEX message_by_conversation ON message (conversation_id, server_seq);

CREATE TABLE attachment (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id INTEGER NOT NULL REFERENCES message (id),
    remote_id TEXT NOT NULL,
    url TEXT,
    mime_type TEXT
);

CREATE TABLE reaction (
    message_id INTEGER NOT NULL REFERENCES message (id),
    sender_id TEXT NOT NULL,
    emoji TEXT NOT NULL,
    PRIMARY KEY (message_id, sender_id, emoji)
);
"""

START = 1767225600
CONVERSATIONS = 7


def add(db, number):
    """One more message; its row id is `number`."""
    conversation = number % CONVERSATIONS + 1
    status = 3 if number % 41 == 0 else 4 if number % 43 == 0 else 1
    db.execute(
        "INSERT INTO message VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            number, conversation, f"srv-{number}", None, number // CONVERSATIONS + 1,
            f"u{number % 5}", None if status == 3 else f"text {number} '{chr(0x4E00 + number % 999)}'",
            START + number * 1.5, START + number * 1.5 + 60 if number % 17 == 0 else None, status,
            number - CONVERSATIONS if number % 11 == 0 and number > CONVERSATIONS else None,
        ),
    )
    if number % 13 == 0 and status == 1:
        db.execute(
            "INSERT INTO attachment (message_id, remote_id, url, mime_type) VALUES (?, ?, ?, ?)",
            (number, f"file-{number}", f"https://files.example/{number}?sig=old", "image/jpeg"),
        )
    if number % 9 == 0 and status == 1:
        db.execute("INSERT INTO reaction VALUES (?, ?, ?)", (number, f"u{number % 4}", "👍"))


def make(db, count):
    """A new database."""
    db.executescript(SCHEMA)
    for number in range(1, CONVERSATIONS + 1):
        db.execute(
            "INSERT INTO conversation (remote_id, title, is_muted, is_pinned, last_read_seq, draft)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (f"room-{number}", f"Room {number}", number == 2, number == 3,
             None if number == 4 else count // CONVERSATIONS // 2, "half a thought" if number == 5 else None),
        )
    for number in range(1, count + 1):
        add(db, number)
    # One that the server has not taken.
    db.execute(
        "INSERT INTO message (conversation_id, client_id, sender_id, text, sent_at, status)"
        " VALUES (1, 'note-4711', 'u1', 'not sent yet', ?, 2)",
        (START + count * 2,),
    )


def later(db):
    """What happens in the old app while both run: the same that `events` says."""
    db.execute("UPDATE message SET text = 'better text', edited_at = ? WHERE id = 20", (START + 9e4,))
    db.execute("UPDATE message SET text = NULL, status = 3 WHERE id = 21")
    db.execute("UPDATE conversation SET last_read_seq = 3 WHERE remote_id = 'room-4'")
    last = db.execute("SELECT max(id) FROM message").fetchone()[0]
    for number in (last + 1, last + 2):
        db.execute(
            "INSERT INTO message (id, conversation_id, remote_id, server_seq, sender_id, text, sent_at)"
            " VALUES (?, 1, ?, ?, 'u2', ?, ?)",
            (number, f"new-{number - last}", 1_000_000 + number - last, f"new {number - last}", START + 9e4),
        )


def events():
    """What the server tells both apps of it; the second new message has not come yet."""
    at = "2026-01-02T01:00:00.000Z"
    yield {"type": "edit", "conversation": "room-7", "id": "srv-20", "version": 2, "by": "u0",
           "edited_at": at, "body": "better text"}
    yield {"type": "recall", "conversation": "room-1", "id": "srv-21", "version": 2, "by": "u1"}
    yield {"conversation": "room-1", "id": "new-1", "seq": 1_000_001, "sender": "u2", "sent_at": at,
           "body": "new 1"}
    yield {"type": "page", "stream": "sync", "after": None, "next": "s1"}


def main():
    if sys.argv[1:] == ["events"]:
        for event in events():
            print(json.dumps(event))
        return
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    with sqlite3.connect(sys.argv[1]) as db:
        if sys.argv[2] == "make":
            make(db, int(sys.argv[3]))
        else:
            later(db)


if __name__ == "__main__":
    main()
