#!/usr/bin/env python3
"""Stores messages through one long-lived `lockkeeper ingest`, and acknowledges by its receipts.

    helper.py ROOT ACCOUNT [PROGRAM] < LINES

Reads event lines, hands each to the child, and prints one acknowledgement per receipt: the lines that
are on disk now, and the cursors that the server may be told. What was not acknowledged when the child
ends is to be sent again. Needs Python's standard library only; the lines and receipts are those of
Docs/PROTOCOL.md.
"""

import json
import subprocess
import sys
import threading


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    root, account = sys.argv[1], sys.argv[2]
    program = sys.argv[3] if len(sys.argv) == 4 else "lockkeeper"
    child = subprocess.Popen(
        [program, "ingest", "-", "--root", root, "--account", account, "--name", "python-helper"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )

    def feed():
        # A thread of its own: the child stops reading while its queue is full, and its receipts must
        # be read meanwhile.
        try:
            for line in sys.stdin.buffer:
                child.stdin.write(line)
                child.stdin.flush()
            child.stdin.close()
        except BrokenPipeError:
            pass

    threading.Thread(target=feed, daemon=True).start()
    for line in child.stdout:
        receipt = json.loads(line)
        if "summary" in receipt:
            continue
        if receipt["durable"]:
            acknowledged = {"lines": receipt["lines"], "cursors": receipt["cursors"]}
            print(json.dumps({"acknowledged": acknowledged}), flush=True)
    # 75 says to try again and 76 that the account was switched away from: the server is asked again.
    sys.exit(child.wait())


if __name__ == "__main__":
    main()
