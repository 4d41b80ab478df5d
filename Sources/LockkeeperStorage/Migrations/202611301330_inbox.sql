-- Packets that were kept as files and are applied. A name is taken out once its file is gone for
-- good; names are never given again.
CREATE TABLE lk_inbox_applied(
  name TEXT PRIMARY KEY
) WITHOUT ROWID;

-- Packets that were received and are not applied yet, as bytes. `number` orders them; `name` is
-- never given again. `format` is 0 for event lines, 1 for what the app's decoder reads. `stream`,
-- `after`, `next` and `done` are the page that the packet is known to be, before anybody decodes
-- it. `attempts` counts those who began to apply it; `parked` says why nobody does any more.
-- `failure` names what the last of them failed with.
CREATE TABLE lk_inbox_packet(
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  format INTEGER NOT NULL,
  stream TEXT,
  after TEXT,
  next TEXT,
  done INTEGER,
  received_by TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  parked TEXT,
  failure TEXT,
  byte_count INTEGER NOT NULL,
  packet BLOB NOT NULL,
  CHECK ((stream IS NULL) = (next IS NULL))
);

-- What waits, and how much is kept, without a look at the bytes.
CREATE INDEX lk_inbox_packet_kept ON lk_inbox_packet(parked, number, byte_count);
