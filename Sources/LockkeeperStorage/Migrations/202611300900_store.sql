-- What makes a database file a store: whose it is, who may write it, and what was committed.

-- One row. `store` names this file for life; `boot` is the run of the kernel under which it was
-- last written; commits up to `floor` are no longer in the log. `since` is the generation of the last
-- activation or retirement, below `generation` in a file that is a copy. `counterpart` is the other account of
-- the switch that wrote the row, and the generation that its fences get.
CREATE TABLE lk_fence(
  id INTEGER PRIMARY KEY CHECK (id = 1),
  kind TEXT NOT NULL,
  account TEXT NOT NULL,
  store BLOB NOT NULL CHECK (length(store) = 16),
  generation INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('active', 'retired')),
  boot BLOB NOT NULL CHECK (length(boot) = 16),
  floor INTEGER NOT NULL,
  since INTEGER NOT NULL,
  counterpart TEXT,
  counterpart_generation INTEGER,
  CHECK ((counterpart IS NULL) = (counterpart_generation IS NULL))
);

-- One row per transaction that changed something. `boot` stands where it differs from the row
-- before. What `tables` and `topics` hold is described with the type that writes them.
CREATE TABLE lk_commit(
  number INTEGER PRIMARY KEY,
  generation INTEGER NOT NULL,
  origin TEXT NOT NULL,
  committed_at INTEGER NOT NULL,
  boot BLOB,
  monotonic_ns INTEGER NOT NULL,
  tables TEXT NOT NULL,
  topics TEXT
);
