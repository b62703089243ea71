/** Raised with every change of the tables below; a newer number than ours is not opened. */
export const schemaVersion = 3

/** Marks an SQLite file as one of ours: "Lkey" in ASCII. */
export const applicationId = 0x4c6b6579

/**
 * `fold` says how the state rows of a kind of stream were made. `expires` of a state row is when
 * its stream may go, or of an audit stream when it last changed, in ms UTC; see the pruner.
 */
const pruning = [
  "CREATE TABLE fold (stream TEXT PRIMARY KEY, shape TEXT NOT NULL) WITHOUT ROWID",
  "CREATE INDEX state_expires ON state (stream, expires) WHERE expires IS NOT NULL",
] as const

/** What brings the tables of an older version to the next one. */
export const migrations: ReadonlyMap<number, readonly string[]> = new Map([
  [
    1,
    [
      "ALTER TABLE state ADD COLUMN expires INTEGER",
      ...pruning,
      // Nothing expired before, and no fold had a revision.
      `INSERT INTO fold SELECT DISTINCT name, '1' FROM kind JOIN name ON code = stream`,
    ],
  ],
  // The tables are the same, but whoever does not know that a state may have no row reads wrongly.
  [2, []],
])

/**
 * The log's own tables, the state rows, and the bookkeeping of views and reactors. `name` codes
 * stream and event type names as small numbers; `kind` says where each revision of a type was
 * first written, so that a start sees without a scan whether it can read them all. Sums are CRC-32
 * over the canonical parts, that of `private` apart so that an erasure leaves the rest provable.
 */
export const schema = [
  "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
  "CREATE TABLE name (code INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)",
  `CREATE TABLE kind (
    stream INTEGER NOT NULL,
    type INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (stream, type, revision)
  ) WITHOUT ROWID`,
  `CREATE TABLE event (
    position INTEGER PRIMARY KEY,
    instance TEXT NOT NULL,
    stream INTEGER NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    type INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    data TEXT NOT NULL,
    private TEXT,
    time INTEGER NOT NULL,
    editor_user TEXT NOT NULL,
    editor_client TEXT NOT NULL,
    owner TEXT NOT NULL,
    correlation TEXT NOT NULL,
    erase TEXT,
    sum INTEGER NOT NULL,
    private_sum INTEGER
  )`,
  "CREATE UNIQUE INDEX event_stream ON event (instance, stream, id, version)",
  `CREATE TABLE claim (
    instance TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    stream TEXT NOT NULL,
    id TEXT NOT NULL,
    expires INTEGER,
    PRIMARY KEY (instance, kind, key)
  ) WITHOUT ROWID`,
  "CREATE INDEX claim_expires ON claim (expires) WHERE expires IS NOT NULL",
  `CREATE TABLE state (
    instance TEXT NOT NULL,
    stream TEXT NOT NULL,
    id TEXT NOT NULL,
    version INTEGER NOT NULL,
    position INTEGER NOT NULL,
    created INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    owner TEXT NOT NULL,
    state TEXT NOT NULL,
    expires INTEGER,
    PRIMARY KEY (instance, stream, id)
  ) WITHOUT ROWID`,
  ...pruning,
  `CREATE TABLE view (
    name TEXT PRIMARY KEY,
    hash TEXT NOT NULL,
    generation INTEGER NOT NULL,
    tables TEXT NOT NULL
  ) WITHOUT ROWID`,
  "CREATE TABLE reactor (name TEXT PRIMARY KEY, position INTEGER NOT NULL) WITHOUT ROWID",
  `CREATE TABLE failed_event (
    reactor TEXT NOT NULL,
    position INTEGER NOT NULL,
    instance TEXT NOT NULL,
    failures INTEGER NOT NULL,
    error TEXT NOT NULL,
    last INTEGER NOT NULL,
    PRIMARY KEY (reactor, position)
  ) WITHOUT ROWID`,
  `CREATE TABLE data_key (
    id TEXT PRIMARY KEY,
    purpose TEXT NOT NULL,
    wrapped TEXT NOT NULL,
    active INTEGER NOT NULL
  ) WITHOUT ROWID`,
] as const
