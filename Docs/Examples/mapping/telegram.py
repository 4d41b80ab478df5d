"""A server like Telegram's: updates that are numbered per channel, and snapshots of messages.

id         the message's number within its channel
seq        the same number: it only grows and is unique
version    `edit_date` in seconds, or 1. Two edits within one second are two contents at one version: the
           larger bytes stand, the other goes to quarantine. What numbers updates (`pts`) cannot be the
           version, because a snapshot does not carry it
authority  server
cursor     `pts`: an update begins at `pts - pts_count` and ends at `pts`
"""

CONTRACT = ["--own-id", "7", "--unknown-cursor", "refuses"]
CONVERSATION = "-1001"


def events(delivery):
    """The lines of one update, or of one snapshot of history."""
    where = {"conversation": str(delivery["channel"])}
    kind = delivery["update"]
    if kind in ("message", "edit", "history"):
        for raw in delivery["messages"]:
            yield where | {
                "id": str(raw["id"]), "seq": raw["id"], "sender": str(raw["from"]),
                "sent_at": raw["date"] * 1000, "body": raw["text"],
                "version": raw.get("edit_date", 1),
            }
    elif kind == "delete":
        # Within a channel a deletion is everybody's. Elsewhere it may be for oneself only: `delete`.
        for id in delivery["ids"]:
            yield where | {"type": "recall", "id": str(id), "version": 1, "seq": id}
    elif kind == "read":
        yield where | {"type": "read", "seq": delivery["max_id"]}
    if "pts" in delivery:
        begin = delivery["pts"] - delivery["pts_count"]
        yield {
            "type": "page", "stream": f"channel {delivery['channel']}",
            # A client that joins takes the server's present `pts` as its first.
            "after": str(begin) if begin else None, "next": str(delivery["pts"]),
        }


def _message(id, sender, text, edit_date=None):
    raw = {"id": id, "from": sender, "date": 1767225600 + id, "text": text}
    return raw | ({"edit_date": edit_date} if edit_date else {})


C = -1001
DELIVERIES = [
    {"update": "message", "channel": C, "pts": 1, "pts_count": 1, "messages": [_message(1, 8, "one")]},
    {"update": "message", "channel": C, "pts": 2, "pts_count": 1, "messages": [_message(2, 9, "tow")]},
    {"update": "edit", "channel": C, "pts": 3, "pts_count": 1,
     "messages": [_message(2, 9, "two", 1767225700)]},
    {"update": "message", "channel": C, "pts": 4, "pts_count": 1, "messages": [_message(3, 8, "no")]},
    {"update": "delete", "channel": C, "pts": 6, "pts_count": 2, "ids": [3]},
    {"update": "read", "channel": C, "max_id": 1},
    {"update": "history", "channel": C, "messages": [
        _message(1, 8, "one"), _message(2, 9, "two", 1767225700), _message(5, 7, "five"),
    ]},
]
SHOWN = ["one", "two", None, "five"]
CURSORS = {"channel -1001": "6"}
ASIDE = []
