"""IRC: lines of a server with message ids, server times and stored history (IRCv3).

id         the tag `msgid`; for a server or a log without it a digest of time, sender and text, which makes
           one message of the same text twice within a millisecond
seq        the tag `time` in milliseconds, with ties
version    1: there are no edits
authority  server: it lets operators take away what others wrote
cursor     `msgid` of the last line of a page of history; live lines have none
"""

import hashlib
from datetime import datetime

CONTRACT = ["--own-id", "me", "--order", "ties"]
CONVERSATION = "#harbour"


def parse(line):
    """The tags, the sender's nick, the command and the parameters of a line."""
    tags = {}
    if line.startswith("@"):
        text, line = line[1:].split(" ", 1)
        # Values without the characters that are escaped; a client's own parser knows those as well.
        tags = dict(tag.split("=", 1) for tag in text.split(";"))
    source, line = line[1:].split(" ", 1)
    head, separator, last = line.partition(" :")
    command, *parameters = head.split()
    return tags, source.split("!")[0], command, parameters + ([last] if separator else [])


def message(line):
    """The event line of one line of the server."""
    tags, nick, command, parameters = parse(line)
    where = {"conversation": parameters[0].lower()}
    if command == "REDACT":
        yield where | {"type": "recall", "id": parameters[1], "version": 2, "by": nick}
    elif command == "MARKREAD":
        at = parameters[1].removeprefix("timestamp=")
        yield where | {"type": "read", "seq": _milliseconds(at)}
    elif command in ("PRIVMSG", "NOTICE"):
        text = parameters[1]
        digest = hashlib.sha256(f"{tags['time']}\0{nick}\0{text}".encode()).hexdigest()
        event = where | {
            "id": tags.get("msgid", digest[:32]), "seq": _milliseconds(tags["time"]),
            "sender": nick, "sent_at": tags["time"], "body": text,
        }
        # What services and bots say with NOTICE is shown and not counted.
        yield event if command == "PRIVMSG" else event | {"kind": "notice", "counts": False}


def events(delivery):
    """The event lines of a live line, or of a page of history."""
    if isinstance(delivery, str):
        yield from message(delivery)
        return
    for line in delivery["lines"]:
        yield from message(line)
    yield {
        "type": "page", "stream": f"history {CONVERSATION}", "after": delivery["after"],
        "next": delivery["last"],
    }


def _milliseconds(text):
    return int(datetime.fromisoformat(text).timestamp() * 1000)


DELIVERIES = [
    "@msgid=m1;time=2026-01-01T08:00:00.000Z :ann!a@h PRIVMSG #Harbour :anyone awake?",
    "@msgid=m2;time=2026-01-01T08:00:00.000Z :bob!b@h PRIVMSG #harbour :me",
    {"after": None, "last": "m3", "lines": [
        "@msgid=m1;time=2026-01-01T08:00:00.000Z :ann!a@h PRIVMSG #harbour :anyone awake?",
        "@msgid=m2;time=2026-01-01T08:00:00.000Z :bob!b@h PRIVMSG #harbour :me",
        "@msgid=m3;time=2026-01-01T08:00:01.500Z :eve!e@h PRIVMSG #harbour :cheap boats",
    ]},
    ":op!o@h REDACT #harbour m3 :spam",
    "@time=2026-01-01T08:00:02.000Z :keeper!k@h NOTICE #harbour :eve was shown the door",
    ":server MARKREAD #harbour timestamp=2026-01-01T08:00:00.000Z",
    {"after": "m3", "last": "m4", "lines": [
        "@msgid=m4;time=2026-01-01T08:00:03.000Z :me!m@h PRIVMSG #harbour :thanks",
    ]},
]
SHOWN = ["anyone awake?", "me", None, "eve was shown the door", "thanks"]
CURSORS = {"history #harbour": "m4"}
ASIDE = []
