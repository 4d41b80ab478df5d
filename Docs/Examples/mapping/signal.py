"""A server like Signal's: sealed envelopes in a queue per device, which forgets what is acknowledged.

id         sender and the sender's time stamp: what edits, deletions, reactions and receipts name
seq        the sender's time stamp with ties: the only number that all devices of an account see alike
version    the time stamp of the act
authority  author; as the author is part of the id, an act by somebody else names no message
cursor     none: an envelope is acknowledged one by one, by a durable receipt and nothing earlier. The
           server keeps no history, so that helpers use `ingest --deliver`
"""

CONTRACT = [
    "--own-id", "me", "--order", "ties", "--authority", "author", "--retention", "drops",
    "--no-resume",
]
CONVERSATION = "group 1"


def events(delivery):
    """The lines of one envelope, decrypted."""
    # What another device of mine sent comes as a transcript, with the time stamp of sending.
    sender = delivery["source"]
    content, at = delivery["content"], delivery["content"]["timestamp"]
    where = {"conversation": content["group"]}
    kind = content["kind"]
    if kind == "text":
        line = where | {
            "id": f"{sender}:{at}", "seq": at, "sender": sender, "sent_at": at,
            "body": content["body"],
        }
        if "server_timestamp" in delivery:
            # It orders the list of conversations, and a transcript has none.
            line["server_at"] = delivery["server_timestamp"]
        if "expires_after" in content:
            # From sending on. Where the clock runs from reading on, the app writes an edit then.
            line["expires_at"] = at + content["expires_after"] * 1000
        yield line
    elif kind == "edit":
        yield where | {
            "type": "edit", "id": f"{sender}:{content['target']}", "version": at, "by": sender,
            "edited_at": at, "body": content["body"],
        }
    elif kind == "delete":
        yield where | {
            "type": "recall", "id": f"{sender}:{content['target']}", "version": at, "by": sender,
        }
    elif kind == "reaction":
        # A person has one reaction to a message: the slot is a constant.
        yield where | {
            "type": "reaction", "id": f"{content['author']}:{content['target']}", "by": sender,
            "emoji": content["emoji"], "slot": "one", "version": at,
            "removed": content.get("remove", False),
        }
    elif kind == "read":
        line = where | {"type": "read", "id": f"{content['author']}:{content['target']}"}
        yield line if sender == "me" else line | {"by": sender}


def _envelope(source, at, kind, **content):
    envelope = {"source": source, "content": {"group": "group 1", "kind": kind, "timestamp": at} | content}
    return envelope if source == "me" else envelope | {"server_timestamp": T + 60_000}


T = 1767225600000
DELIVERIES = [
    _envelope("ann", T, "text", body="se you at ten"),
    _envelope("bob", T, "text", body="at the same millisecond"),
    _envelope("ann", T + 5000, "edit", target=T, body="see you at ten"),
    # Nobody else can edit Ann's message: this names one of Eve's, which does not exist.
    _envelope("eve", T + 6000, "edit", target=T, body="see you never"),
    _envelope("bob", T + 7000, "reaction", author="ann", target=T, emoji="👍"),
    _envelope("bob", T + 8000, "reaction", author="ann", target=T, emoji="❤️"),
    _envelope("me", T + 9000, "text", body="wrong window"),
    _envelope("me", T + 9500, "delete", target=T + 9000),
    _envelope("me", T + 9900, "read", author="bob", target=T),
]
SHOWN = ["see you at ten", "at the same millisecond", None]
CURSORS = {}
ASIDE = []
