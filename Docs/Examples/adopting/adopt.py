#!/usr/bin/env python3
"""Moves an old app's messages into Lockkeeper. Docs/ADOPTING.md explains each step.

    adopt.py import   DATABASE ROOT ACCOUNT [PROGRAM]   what is new since the last time; may be killed
    adopt.py compare  DATABASE ROOT ACCOUNT [PROGRAM]   prints what differs; exit 1 where something does
    adopt.py cut-over DATABASE ROOT ACCOUNT [PROGRAM]   everything once more, compared, marked as done
    adopt.py unsent   DATABASE ROOT ACCOUNT [PROGRAM]   hands what was not sent to the outbox

The old database is opened for reading and never written. Needs Python's standard library only.
"""

import json
import sqlite3
import subprocess
import sys
import threading
from datetime import datetime, timezone

# A stream of its own: its cursor is the last row id that was moved, and no server stream is touched.
STREAM = "import"
PAGE = 500

# One row of the old table as one event. The old app knew no versions, so that 0 stands here: whatever the
# server says of the message later is newer and no contradiction. What only this app had is kept beside.
MESSAGES = """
SELECT m.id, CASE m.status
  WHEN 3 THEN json_object('type', 'recall', 'conversation', c.remote_id, 'id', m.remote_id, 'version', 0,
      'seq', m.server_seq, 'sender', m.sender_id, 'sent_at', m.sent_at)
  WHEN 4 THEN json_object('type', 'delete', 'conversation', c.remote_id, 'id', m.remote_id,
      'seq', m.server_seq, 'version', 0)
  ELSE json_object('type', 'message', 'conversation', c.remote_id, 'id', m.remote_id, 'version', 0,
      'seq', m.server_seq, 'sender', m.sender_id, 'sent_at', m.sent_at, 'body', m.text,
      'client_id', m.client_id, 'old_edited_at', m.edited_at,
      'reply_to', (SELECT r.remote_id FROM message r WHERE r.id = m.reply_to_id),
      'attachments', (SELECT json_group_array(json_object('id', a.remote_id, 'url', a.url,
          'mime_type', a.mime_type)) FROM attachment a WHERE a.message_id = m.id))
  END
FROM message m JOIN conversation c ON c.id = m.conversation_id
WHERE m.id > ? AND m.remote_id IS NOT NULL ORDER BY m.id LIMIT ?
"""

REACTIONS = """
SELECT json_object('type', 'reaction', 'conversation', c.remote_id, 'id', m.remote_id,
    'by', r.sender_id, 'emoji', r.emoji, 'version', 0)
FROM reaction r JOIN message m ON m.id = r.message_id JOIN conversation c ON c.id = m.conversation_id
WHERE m.id > ? AND m.id <= ? AND m.remote_id IS NOT NULL AND m.status NOT IN (3, 4)
"""

CONVERSATIONS = """
SELECT json_object('type', 'conversation', 'conversation', remote_id, 'version', 0, 'title', title,
    'muted', json(iif(is_muted, 'true', 'false')), 'pinned', json(iif(is_pinned, 'true', 'false')))
FROM conversation
UNION ALL
SELECT json_object('type', 'read', 'conversation', remote_id, 'seq', last_read_seq)
FROM conversation WHERE last_read_seq IS NOT NULL
"""


def event(text):
    """The event of a row: absent is absent, seconds become instants."""
    fields = {key: value for key, value in json.loads(text).items() if value not in (None, [])}
    if "sent_at" in fields:
        milliseconds = round(fields["sent_at"] * 1000)
        whole = datetime.fromtimestamp(milliseconds // 1000, timezone.utc)
        # As an export writes it, so that both can be compared as text.
        fraction = f".{milliseconds % 1000:03}" if milliseconds % 1000 else ""
        fields["sent_at"] = f"{whole:%Y-%m-%dT%H:%M:%S}{fraction}Z"
    return fields


class Move:
    """From one old database into one account."""

    def __init__(self, database, root, account, program="lockkeeper"):
        self.old = sqlite3.connect(f"file:{database}?mode=ro", uri=True, check_same_thread=False)
        self.program = program
        self.where = ["--root", root, "--account", account]

    def command(self, arguments):
        """A command on the account."""
        return [self.program] + arguments + self.where

    def objects(self, *arguments):
        """What a command prints, an object per line."""
        end = subprocess.run(self.command([*arguments]), stdout=subprocess.PIPE, check=True)
        return [json.loads(line) for line in end.stdout.splitlines()]

    def cursor(self):
        """The last row that was moved, 0 for none."""
        for stream in self.objects("cursors", "--json"):
            if stream["stream"] == STREAM:
                if stream["cursor"] == "done":
                    sys.exit("The account was cut over: the old database is of the past.")
                return int(stream["cursor"])
        return 0

    def rows(self, after):
        """The events of all rows behind one, page by page: (events, last row id)."""
        while page := self.old.execute(MESSAGES, (after, PAGE)).fetchall():
            last = page[-1][0]
            events = [event(text) for _, text in page]
            events += [event(text) for (text,) in self.old.execute(REACTIONS, (after, last))]
            yield events, last
            after = last

    def ingest(self, pages):
        """Stores pages of events; the end of the program that did."""
        child = subprocess.Popen(
            self.command(["ingest", "--no-effects", "--name", "import"]),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        print(json.dumps({"ingest": {"pid": child.pid}}), flush=True)

        def feed():
            try:
                for events in pages:
                    for fields in events:
                        child.stdin.write(json.dumps(fields, ensure_ascii=False).encode() + b"\n")
                child.stdin.close()
            except BrokenPipeError:
                pass

        # Its receipts are read meanwhile: it stores nothing more while nobody does.
        feeder = threading.Thread(target=feed)
        feeder.start()
        for line in child.stdout:
            receipt = json.loads(line)
            if "summary" not in receipt:
                print(json.dumps({"moved": receipt["cursors"].get(STREAM)}), flush=True)
        feeder.join()
        end = child.wait()
        # 75: try again. Killed in the middle is nothing else.
        return 75 if end < 0 else end

    def run_import(self):
        """What is new. Each page ends with the cursor, in one transaction with its last events."""
        start = self.cursor()

        def pages():
            yield [event(text) for (text,) in self.old.execute(CONVERSATIONS)]
            after = start
            for events, last in self.rows(start):
                edge = {"after": str(after) if after else None, "next": str(last)}
                yield events + [{"type": "page", "stream": STREAM} | edge]
                after = last

        return self.ingest(pages())

    def compare(self):
        """What differs, a line each: in the old app, in the new one."""
        old, new = {}, {}
        for events, _ in self.rows(0):
            for fields in events:
                note(old, fields)
        for (text,) in self.old.execute(CONVERSATIONS):
            note(old, event(text))
        # Line by line: an export may be larger than memory.
        export = subprocess.Popen(self.command(["export"]), stdout=subprocess.PIPE)
        for line in export.stdout:
            note(new, json.loads(line))
        if export.wait():
            sys.exit(export.returncode)
        different = 0
        for key in sorted(old.keys() | new.keys()):
            if old.get(key) != new.get(key):
                print(json.dumps({"at": key, "old": old.get(key), "new": new.get(key)}))
                different += 1
        print(json.dumps({"compared": len(old), "different": different}))
        return 1 if different else 0

    def cut_over(self):
        """Everything once more, because rows that changed do not say so; then compared, then marked."""
        def pages():
            yield [event(text) for (text,) in self.old.execute(CONVERSATIONS)]
            for events, _ in self.rows(0):
                yield events

        # First what is new, so that the cursor stands at the last row.
        end = self.run_import() or self.ingest(pages()) or self.compare()
        if end:
            return end
        last = self.cursor()
        # Another import would begin at no row, and fail.
        done = {"type": "page", "stream": STREAM, "after": str(last), "next": "done", "done": True}
        return self.ingest([[done]])

    def unsent(self):
        """What the server never took. Its client id is the same, so that handing it over twice is once."""
        select = (
            "SELECT c.remote_id, m.text, m.client_id FROM message m JOIN conversation c"
            " ON c.id = m.conversation_id WHERE m.remote_id IS NULL AND m.status IN (0, 2) ORDER BY m.id"
        )
        for conversation, text, client_id in self.old.execute(select):
            arguments = ["send", "--client-id", client_id] + self.where + ["--", conversation, text]
            subprocess.run([self.program] + arguments, check=True)
        return 0


def note(kept, fields):
    """Keeps of an event what a person would miss, under a key that both sides have."""
    kind, conversation = fields.get("type", "message"), fields.get("conversation")
    if kind in ("message", "recall", "delete"):
        value = kept.setdefault(f"{conversation} {fields['id']}", {})
        value["seq"] = fields.get("seq", value.get("seq"))
        if kind == "message":
            value["text"], value["sender"] = fields["body"], fields["sender"]
            value["sent_at"] = fields["sent_at"]
            value["files"] = sorted(file["id"] for file in fields.get("attachments", []))
        else:
            value["text"] = f"({kind})"
    elif kind == "edit" and "body" in fields:
        kept.setdefault(f"{conversation} {fields['id']}", {})["text"] = fields["body"]
    elif kind == "reaction" and not fields.get("removed"):
        kept[f"{conversation} {fields['id']} {fields['by']} {fields['emoji']}"] = True
    elif kind == "conversation":
        kept[conversation] = [fields.get(name) for name in ("title", "muted", "pinned")]
    elif kind == "read" and "by" not in fields:
        kept[f"{conversation} read"] = fields.get("seq")


def main():
    acts = {"import": Move.run_import, "compare": Move.compare, "cut-over": Move.cut_over,
            "unsent": Move.unsent}
    if len(sys.argv) not in (5, 6) or sys.argv[1] not in acts:
        sys.exit(__doc__)
    sys.exit(acts[sys.argv[1]](Move(*sys.argv[2:])))


if __name__ == "__main__":
    main()
