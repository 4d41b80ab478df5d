"""XMPP with a message archive (MAM): stanzas that come live, and results of archive queries.

id         sender and the id that the sender's client gave: what corrections and retractions name
seq        the archive's stamp in milliseconds, with ties
version    0 and no seq for a live stanza, which has no stamp; 1 once the archive has told; the stamp
           of a correction for a correction
authority  author; as the sender is part of the id, nobody can name another one's message at all
cursor     the archive's id of the last result
"""

from datetime import datetime

CONTRACT = ["--own-id", "me@x.example", "--order", "ties", "--authority", "author"]
CONVERSATION = "ann@x.example"


def stanza(message, stamp):
    """The line of a stanza; `stamp` is the archive's, None for a live one."""
    line = {"conversation": CONVERSATION, "id": f"{message['from']} {message['id']}"}
    if stamp is None:
        if "replace" not in message and "retract" not in message:
            # Nobody knows its place yet. It is shown at the end until the archive has told; the time
            # of arrival is for people.
            yield line | {
                "version": 0, "sender": message["from"], "sent_at": message["received"],
                "body": message["body"],
            }
        # A live correction or retraction has no version. It is a reason to ask the archive now.
        return
    # An archive that stamps seconds only gives more ties, and no other order on another device.
    at = int(datetime.fromisoformat(stamp).timestamp() * 1000)
    if "retract" in message:
        yield line | {
            "type": "recall", "id": f"{message['from']} {message['retract']}", "version": at,
            "by": message["from"],
        }
    elif "replace" in message:
        yield line | {
            "type": "edit", "id": f"{message['from']} {message['replace']}", "version": at,
            "by": message["from"], "edited_at": stamp, "body": message["body"],
        }
    else:
        yield line | {
            "seq": at, "sender": message["from"], "sent_at": stamp, "body": message["body"],
        }


def events(delivery):
    """The lines of a live stanza, or of a page of the archive."""
    if "live" in delivery:
        yield from stanza(delivery["live"], None)
        return
    for result in delivery["results"]:
        yield from stanza(result["message"], result["stamp"])
    yield {
        "type": "page", "stream": "archive", "after": delivery["after"],
        "next": delivery["results"][-1]["archive_id"], "done": delivery["complete"],
    }


def _result(archive_id, stamp, sender, id, **others):
    message = {"from": sender, "id": id} | others
    return {"archive_id": archive_id, "stamp": stamp, "message": message}


ANN, ME = "ann@x.example", "me@x.example"
DELIVERIES = [
    {"live": {"from": ANN, "id": "q1", "body": "lunch at nine", "received": "2026-01-01T08:00:03Z"}},
    {"after": None, "complete": False, "results": [
        _result("a1", "2026-01-01T08:00:00.120Z", ANN, "q1", body="lunch at nine"),
        _result("a2", "2026-01-01T08:00:05.000Z", ME, "k1", body="dinner, you mean"),
    ]},
    {"live": {"from": ANN, "id": "q2", "body": "lunch at one", "replace": "q1",
              "received": "2026-01-01T08:00:09Z"}},
    {"live": {"from": ANN, "id": "q3", "body": "who else?", "received": "2026-01-01T08:01:00Z"}},
    {"after": "a2", "complete": True, "results": [
        _result("a3", "2026-01-01T08:00:08.500Z", ANN, "q2", body="lunch at one", replace="q1"),
        _result("a4", "2026-01-01T08:00:20.000Z", ME, "k2", body="", retract="k1"),
        _result("a5", "2026-01-01T08:00:59.900Z", ANN, "q3", body="who else?"),
    ]},
]
SHOWN = ["lunch at one", None, "who else?"]
CURSORS = {"archive": "a5"}
ASIDE = []
