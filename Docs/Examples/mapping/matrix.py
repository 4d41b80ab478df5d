"""Matrix: responses of /sync, and pages of a room's history.

id         the event's id
seq        `origin_server_ts` with ties: rooms have no number that all servers agree on
version    1 for a message, the edit's own `origin_server_ts` for an edit
authority  author of edits: servers pass an edit on whoever wrote it, and check who may redact
cursor     `since` and `next_batch` of /sync; history has none, it fills gaps
"""

CONTRACT = ["--own-id", "@me:a.example", "--order", "ties", "--authority", "author-of-edits"]
CONVERSATION = "!room:a.example"


def message(event):
    """The lines of one event of a room."""
    where = {"conversation": CONVERSATION}
    content, at = event["content"], event["origin_server_ts"]
    if event["type"] == "m.room.redaction":
        # The author's or a moderator's: the server has checked the room's power levels.
        yield where | {
            "type": "recall", "id": event["redacts"], "version": at, "by": event["sender"],
        }
    elif event["type"] == "m.room.message":
        relation = content.get("m.relates_to", {})
        if "redacted_because" in event.get("unsigned", {}):
            # History gives a redacted event without content, under its author's name.
            for line in (
                {"id": event["event_id"], "seq": at, "sender": event["sender"], "sent_at": at,
                 "version": 0, "body": ""},
                {"type": "recall", "id": event["event_id"], "version": at, "by": event["sender"]},
            ):
                yield where | line
        elif relation.get("rel_type") == "m.replace":
            yield where | {
                "type": "edit", "id": relation["event_id"], "version": at, "by": event["sender"],
                "edited_at": at, "body": content["m.new_content"]["body"],
            }
        else:
            yield where | {
                "id": event["event_id"], "seq": at, "sender": event["sender"], "sent_at": at,
                "body": content["body"],
            }
    elif event["type"] == "m.reaction":
        relation = content["m.relates_to"]
        # Taking one off is a redaction of the reaction's event: whoever maps that keeps a table from
        # such events to (message, emoji) beside ours, in the same transaction.
        yield where | {
            "type": "reaction", "id": relation["event_id"], "by": event["sender"],
            "emoji": relation["key"], "version": at,
        }


def events(delivery):
    """The lines of one response."""
    for event in delivery["timeline"]:
        yield from message(event)
    for person, receipt in delivery.get("receipts", {}).items():
        line = {"type": "read", "conversation": CONVERSATION, "id": receipt}
        yield line if person == "@me:a.example" else line | {"by": person}
    if "next_batch" in delivery:
        yield {
            "type": "page", "stream": "sync", "after": delivery["since"],
            "next": delivery["next_batch"],
        }


def _event(number, kind, sender, at, content, **others):
    return {
        "event_id": f"$e{number}", "type": kind, "sender": sender, "origin_server_ts": at,
        "content": content,
    } | others


def _text(number, sender, at, body, **others):
    return _event(number, "m.room.message", sender, at, {"msgtype": "m.text", "body": body}, **others)


def _edit(number, of, sender, at, body):
    return _event(number, "m.room.message", sender, at, {
        "msgtype": "m.text", "body": "* " + body, "m.new_content": {"body": body},
        "m.relates_to": {"rel_type": "m.replace", "event_id": of},
    })


T = 1767225600000
DELIVERIES = [
    {"since": None, "next_batch": "s1", "timeline": [
        _text(1, "@ann:a.example", T, "good mornin"),
        _text(2, "@bob:b.example", T, "same moment, other server"),
        _edit(3, "$e1", "@ann:a.example", T + 9000, "good morning"),
    ]},
    {"since": "s1", "next_batch": "s2", "receipts": {"@me:a.example": "$e2"}, "timeline": [
        _edit(4, "$e1", "@eve:b.example", T + 9500, "buy things"),
        _text(5, "@eve:b.example", T + 9600, "buy more things"),
        _event(6, "m.reaction", "@bob:b.example", T + 9700, {
            "m.relates_to": {"rel_type": "m.annotation", "event_id": "$e1", "key": "👋"},
        }),
        _event(7, "m.room.redaction", "@ann:a.example", T + 9800, {}, redacts="$e5"),
    ]},
    {"timeline": [
        _text(2, "@bob:b.example", T, "same moment, other server"),
        _event(5, "m.room.message", "@eve:b.example", T + 9600, {}, unsigned={"redacted_because": {}}),
    ]},
]
SHOWN = ["good morning", "same moment, other server", None]
CURSORS = {"sync": "s2"}
ASIDE = ["unauthorised"]
