"""Slack: events as they are pushed, and pages of a channel's history.

id         `ts`, which names a message within its channel
seq        `ts` in microseconds: it is unique within a channel, and below 2^53 until the year 2255
version    `edited.ts`, or 1 for what was never edited; the time of its event for a deletion, a reaction
authority  server
cursor     none for pushes; a channel's history is paged backwards, newest first, so that what is kept
           is which part of the history is there, not a cursor
"""

CONTRACT = ["--own-id", "U1", "--no-resume"]
CONVERSATION = "C1"


def micros(ts):
    """A `ts` as a number."""
    seconds, fraction = ts.split(".")
    return int(seconds) * 1_000_000 + int(fraction)


def message(channel, raw):
    """The lines of a message as it stands now."""
    at = micros(raw["ts"])
    edited = raw.get("edited", {}).get("ts")
    line = {
        "conversation": channel, "id": raw["ts"], "seq": at, "sender": raw["user"],
        "sent_at": at // 1000, "body": raw["text"],
        "version": micros(edited) if edited else 1,
    }
    if raw.get("thread_ts", raw["ts"]) != raw["ts"]:
        line["reply_to"] = raw["thread_ts"]
    yield line
    for reaction in raw.get("reactions", []):
        for user in reaction["users"]:
            # A message does not say since when: any event that does is newer.
            yield {
                "type": "reaction", "conversation": channel, "id": raw["ts"], "by": user,
                "emoji": reaction["name"], "version": 0,
            }


def events(delivery):
    """The lines of one push, or of one page of history."""
    kind = delivery["type"]
    if kind == "history":
        for raw in delivery["messages"]:
            yield from message(delivery["channel"], raw)
        # A page from `oldest` to `latest` is all that there is between them.
        yield {
            "type": "history", "conversation": delivery["channel"],
            "from": micros(delivery["oldest"]), "to": micros(delivery["latest"]),
        }
    elif kind in ("reaction_added", "reaction_removed"):
        yield {
            "type": "reaction", "conversation": delivery["item"]["channel"],
            "id": delivery["item"]["ts"], "by": delivery["user"], "emoji": delivery["reaction"],
            "version": micros(delivery["event_ts"]), "removed": kind == "reaction_removed",
        }
    elif kind == "channel_marked":
        yield {
            "type": "read", "conversation": delivery["channel"], "seq": micros(delivery["ts"]),
        }
    elif delivery.get("subtype") == "message_changed":
        # It carries the whole message, so that it may come before the message itself.
        yield from message(delivery["channel"], delivery["message"])
    elif delivery.get("subtype") == "message_deleted":
        yield {
            "type": "recall", "conversation": delivery["channel"], "id": delivery["deleted_ts"],
            "version": micros(delivery["event_ts"]),
        }
    else:
        yield from message(delivery["channel"], delivery)


DELIVERIES = [
    {"type": "message", "channel": "C1", "user": "U2", "ts": "1767225600.000100", "text": "deployng"},
    {"type": "message", "channel": "C1", "user": "U3", "ts": "1767225600.000200", "text": "oops"},
    {"type": "message", "subtype": "message_changed", "channel": "C1",
     "event_ts": "1767225610.000300",
     "message": {"user": "U2", "ts": "1767225600.000100", "text": "deploying",
                 "edited": {"user": "U2", "ts": "1767225610.000000"}}},
    {"type": "message", "subtype": "message_deleted", "channel": "C1",
     "deleted_ts": "1767225600.000200", "event_ts": "1767225620.000400"},
    {"type": "reaction_added", "user": "U3", "reaction": "tada", "event_ts": "1767225630.000500",
     "item": {"channel": "C1", "ts": "1767225600.000100"}},
    {"type": "channel_marked", "channel": "C1", "ts": "1767225600.000100"},
    {"type": "history", "channel": "C1", "oldest": "1767225600.000000",
     "latest": "1767225640.000600", "messages": [
         {"user": "U1", "ts": "1767225640.000600", "text": "done?", "thread_ts": "1767225600.000100"},
         {"user": "U2", "ts": "1767225600.000100", "text": "deploying",
          "edited": {"user": "U2", "ts": "1767225610.000000"},
          "reactions": [{"name": "tada", "users": ["U3"]}]},
     ]},
]
SHOWN = ["deploying", None, "done?"]
CURSORS = {}
ASIDE = []
