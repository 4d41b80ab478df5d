-- Packets that were kept as files and are applied. A name is taken out once its file is gone for
-- good; names are never given again.
CREATE TABLE lk_inbox_applied(
  name TEXT PRIMARY KEY
) WITHOUT ROWID;
