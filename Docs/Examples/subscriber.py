#!/usr/bin/env python3
"""Follows the commits of an account and reads the messages that they touched.

    subscriber.py ROOT ACCOUNT [POSITION]

Prints one JSON object per range: its commits, whether it was read from the log or heard from the hub,
and the messages as they stand now. Starts at POSITION ("STORE:N"), else at the present head. It
listens to the notifier's socket where there is one and reads the commit log itself for whatever it
did not hear, so that nothing is missed with or without a hub. Needs Python's standard library only.
What it relies on stands in Docs/PROTOCOL.md.
"""

import json
import os
import socket
import sqlite3
import sys
import time

HEARTBEAT = 1.0
LINE_BYTES_MAX = 64 * 1024


class Resync(Exception):
    """The log does not reach back to the position: what was read before says nothing any more."""


class Superseded(Exception):
    """The right to write the account has changed hands."""


class Store:
    """The account's database, opened for each reading and never longer: who needs the files alone
    is not kept waiting. A connection that may not write can neither checkpoint nor damage anything."""

    def __init__(self, root, account):
        self.root, self.account = root, account

    def connect(self):
        registry = sqlite3.connect(f"file:{self.root}/workspace.db?mode=ro", uri=True)
        try:
            row = registry.execute(
                "SELECT directory, messages_file FROM lk_account WHERE CAST(id AS BLOB) = ?",
                (self.account.encode(),),
            ).fetchone()
        finally:
            registry.close()
        if row is None or row[1] == 0:
            sys.exit(f"subscriber.py: there is no account {self.account} with files")
        path = f"{self.root}/accounts/{row[0]}/messages-{row[1]}.db"
        database = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)
        database.execute("PRAGMA mmap_size = 0")
        database.execute("BEGIN")
        return database

    def read(self, body):
        """Runs a function on one snapshot."""
        database = self.connect()
        try:
            return body(database)
        finally:
            database.close()

    def fence(self, database):
        store, generation, floor, head = database.execute(
            "SELECT store, generation, floor, (SELECT max(number) FROM lk_commit) FROM lk_fence"
        ).fetchone()
        return store.hex(), generation, floor, floor if head is None else head

    def after(self, position, generation):
        """The ranges after a position, as the hub would send them."""

        def body(database):
            store, current, floor, head = self.fence(database)
            name, number = position
            known = number == floor or database.execute(
                "SELECT 1 FROM lk_commit WHERE number = ?", (number,)
            ).fetchone()
            if name != store or not known:
                raise Resync(f"{store}:{head}")
            ranges, previous = [], number
            for commit, tables, written in database.execute(
                "SELECT number, tables, generation FROM lk_commit WHERE number > ? ORDER BY number",
                (number,),
            ):
                if written > generation:
                    break
                ranges.append(
                    {
                        "commits": [commit, commit],
                        "previous": previous,
                        "position": f"{store}:{commit}",
                        "generation": written,
                        "tables": json.loads(tables),
                    }
                )
                previous = commit
            return ranges, current

        return self.read(body)

    def messages(self, change):
        """The messages that a range speaks of, as they are now."""
        rows = next((t["rows"] for t in change["tables"] if t["name"] == "lk_message"), [])
        if rows is None:
            rows = [[-(2**63), 2**63 - 1]]

        def body(database):
            found = []
            for first, last in rows:
                found += database.execute(
                    """SELECT CAST(c.conversation_id AS BLOB), CAST(m.message_id AS BLOB), m.body
                    FROM lk_message m JOIN lk_conversation c ON c.id = m.conversation
                    WHERE m.id BETWEEN ? AND ?""",
                    (first, last),
                ).fetchall()
            return [
                {"conversation": c.decode(), "id": i.decode(), "body": text} for c, i, text in found
            ]

        return self.read(body)


def parse(position):
    store, number = position.split(":")
    return store, int(number)


class Subscriber:
    def __init__(self, store, position):
        self.store = store
        name, self.generation, _, head = store.read(store.fence)
        self.position = parse(position) if position else (name, head)

    def tell(self, change, source):
        line = {"commits": change["commits"], "source": source}
        line["messages"] = self.store.messages(change)
        print(json.dumps(line, ensure_ascii=False), flush=True)
        self.position = parse(change["position"])

    def take(self, change, source):
        """Tells a range that continues the position; anything else is a reason to read the log."""
        name, number = parse(change["position"])
        if name == self.position[0] and number <= self.position[1]:
            return
        if name != self.position[0] or change["previous"] != self.position[1]:
            return self.catch_up()
        self.tell(change, source)

    def catch_up(self):
        ranges, generation = self.store.after(self.position, self.generation)
        for change in ranges:
            self.tell(change, "log")
        if generation != self.generation:
            raise Superseded(f"generation {generation}")

    def listen(self, connection):
        """Follows the hub until it closes or misses three heartbeats."""
        request = {"subscribe": self.store.account, "after": "%s:%d" % self.position}
        connection.sendall(json.dumps(request).encode() + b"\n")
        connection.settimeout(3 * HEARTBEAT)
        buffer = b""
        while True:
            received = connection.recv(LINE_BYTES_MAX)
            if not received:
                return
            buffer += received
            *lines, buffer = buffer.split(b"\n")
            if len(buffer) > LINE_BYTES_MAX:
                return
            for line in filter(None, lines):
                message = json.loads(line)
                if "error" in message:
                    return
                if "commits" in message and message["generation"] <= self.generation:
                    self.take(message, "hub")
                elif "heartbeat" not in message:
                    # The head, a resync, another generation: the store says what is so.
                    self.catch_up()

    def run(self):
        path = os.path.join(self.store.root, "notifier.sock")
        while True:
            try:
                with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                    connection.connect(path)
                    self.listen(connection)
            except OSError:
                # Nobody listens, or it is stopped: the log has everything.
                time.sleep(HEARTBEAT)
            self.catch_up()


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    store = Store(os.path.realpath(sys.argv[1]), sys.argv[2])
    try:
        Subscriber(store, sys.argv[3] if len(sys.argv) == 4 else None).run()
    except Resync as error:
        sys.exit(f"subscriber.py: read everything anew, then go on from {error}")
    except Superseded as error:
        print(f"subscriber.py: superseded: {error}", file=sys.stderr)
        sys.exit(76)
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
