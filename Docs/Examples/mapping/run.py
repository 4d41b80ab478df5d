#!/usr/bin/env python3
"""Runs the mappings of this folder: the same deliveries, in two orders, must make the same store.

    run.py FOLDER [PROGRAM]

FOLDER is an empty folder, which gets a workspace. Each mapping is ingested as its server delivers, and
backwards with everything twice, half of it by another process. Prints a line per server and ends with 1
where something is not as it should be. Needs Python's standard library only.
"""

import importlib.util
import json
import os
import subprocess
import sys
from datetime import datetime, timezone

SERVERS = ["matrix", "xmpp", "slack", "telegram", "signal", "irc"]


def instant(milliseconds):
    """Milliseconds since 1970 as RFC 3339, exactly."""
    whole = datetime.fromtimestamp(milliseconds // 1000, timezone.utc)
    return f"{whole:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03}Z"


def line(event):
    """An event as a line. Mappings may give instants as numbers, as their servers do."""
    times = {
        key: instant(event[key])
        for key in ("sent_at", "server_at", "edited_at", "expires_at")
        if isinstance(event.get(key), int)
    }
    return json.dumps(event | times, ensure_ascii=False)


class Store:
    """An account of the workspace."""

    def __init__(self, program, root, account, contract):
        self.program, self.root, self.account = program, root, account
        self.run(["account", "add", "--activate"] + contract, account)

    def run(self, arguments, *operands, lines=(), allowed=(0,)):
        """Runs a command on it; its output as lines."""
        at = [] if arguments[0] == "account" else ["--account", self.account]
        end = subprocess.run(
            # An operand may begin with a minus: it follows what ends the options.
            [self.program] + arguments + at + ["--root", self.root, "--", *operands],
            input="".join(f"{text}\n" for text in lines).encode(),
            capture_output=True,
        )
        if end.returncode not in allowed:
            sys.exit(f"{arguments}: {end.returncode} {end.stderr.decode()}")
        return end.stdout.decode().splitlines()

    def ingest(self, lines):
        """Stores event lines. 75: a page is there before its predecessor, as is to be expected."""
        self.run(["ingest"], lines=lines, allowed=(0, 75))

    def objects(self, arguments, *operands):
        """What a command lists."""
        return [json.loads(text) for text in self.run(arguments + ["--json"], *operands)]


def check(server, store, other):
    """What is wrong; an empty list if nothing."""
    wrong = []
    export, again = (each.run(["export", "--cursors"]) for each in (store, other))
    if export != again:
        wrong.append("the orders differ: " + "\n".join(sorted(set(export) ^ set(again))))
    timeline = store.objects(["timeline"], server.CONVERSATION)
    shown = [message.get("body") for message in reversed(timeline)]
    if shown != server.SHOWN:
        wrong.append(f"shown is {shown}")
    pages = {event["stream"]: event["next"] for event in map(json.loads, export)
             if event.get("type") == "page"}
    if pages != server.CURSORS:
        wrong.append(f"cursors are {pages}")
    for each in (store, other):
        aside = [item["reason"] for item in each.objects(["quarantine", "list"])]
        if aside != server.ASIDE:
            wrong.append(f"put aside: {aside}")
        each.run(["check", "--deep"])
    return wrong


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder = sys.argv[1]
    program = sys.argv[2] if len(sys.argv) == 3 else "lockkeeper"
    failed = False
    for name in SERVERS:
        # By its path: a module of Python's own has the name of one of these.
        spec = importlib.util.spec_from_file_location(
            f"mapping_{name}", os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.py")
        )
        server = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(server)
        stores = [
            Store(program, os.path.join(folder, f"{name}-{order}"), "account", server.CONTRACT)
            for order in ("forwards", "backwards")
        ]
        lines = [[line(event) for event in server.events(raw)] for raw in server.DELIVERIES]
        stores[0].ingest([text for delivery in lines for text in delivery])
        # Backwards within a delivery too, each line twice.
        backwards = [text for delivery in lines for text in delivery for _ in range(2)][::-1]
        half = len(backwards) // 2
        stores[1].ingest(backwards[:half])
        stores[1].ingest(backwards[half:])
        wrong = check(server, *stores)
        failed = failed or bool(wrong)
        print(f"{name}\t{'; '.join(wrong) or 'the same in both orders'}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
