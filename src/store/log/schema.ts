import type { Database } from "bun:sqlite"
import { claimSum, type SummedClaim } from "./row.ts"

/**
 * Incremented with every change of the tables below; databases with a higher version are not
 * opened.
 */
export const schemaVersion = 7

/** Identifies an SQLite file as ours: "Lkey" in ASCII. */
export const applicationId = 0x4c6b6579

/**
 * `fold` stores how the state rows of a stream were computed. `expires` of a state row is when its
 * stream may be removed, or for audit streams its last change, in ms UTC; see the pruner.
 */
const pruningTables = [
  "CREATE TABLE fold (stream TEXT PRIMARY KEY, shape TEXT NOT NULL) WITHOUT ROWID",
  "CREATE INDEX state_expires ON state (stream, expires) WHERE expires IS NOT NULL",
] as const

/**
 * The ID before the stream: new IDs are the largest, so related new streams, such as a grant, its
 * session and its token, are adjacent at the end. Under load this halves the WAL pages compared to
 * the reverse order.
 */
const streamIndexes = [
  "CREATE UNIQUE INDEX event_stream ON event (instance, id, stream, version)",
  `CREATE TABLE state (
    instance TEXT NOT NULL,
    id TEXT NOT NULL,
    stream TEXT NOT NULL,
    version INTEGER NOT NULL,
    position INTEGER NOT NULL,
    created INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    owner TEXT NOT NULL,
    state TEXT NOT NULL,
    expires INTEGER,
    PRIMARY KEY (instance, id, stream)
  ) WITHOUT ROWID`,
] as const

/** Over all columns, to detect damaged rows. */
const stateSums = "ALTER TABLE state ADD COLUMN sum INTEGER"
const claimSums = "ALTER TABLE claim ADD COLUMN sum INTEGER"

/** The claim's number in a shared log, which identifies it without its key when it ends. */
const claimNumbers = [
  "ALTER TABLE claim ADD COLUMN number INTEGER",
  "CREATE INDEX claim_number ON claim (number) WHERE number IS NOT NULL",
] as const

/** Bytes last, so that a search by name does not read them. */
const blobTables = [
  `CREATE TABLE blob (
    instance TEXT NOT NULL,
    id TEXT NOT NULL,
    stream TEXT NOT NULL,
    name TEXT NOT NULL,
    sum INTEGER NOT NULL,
    bytes BLOB NOT NULL
  )`,
  "CREATE UNIQUE INDEX blob_name ON blob (instance, id, stream, name)",
] as const

type MigrationStep = string | ((database: Database) => void)

/** Migrates the tables from one version to the next. */
export type Migration = {
  /** The change, for `upgrade check` and docs/operate/upgrade.md. */
  readonly description: string
  /** The table whose rows it changes; absent if it only adds a table. */
  readonly table?: "claim" | "state"
  readonly steps: readonly MigrationStep[]
}

/** By the version before each migration. */
export const migrations: ReadonlyMap<number, Migration> = new Map<number, Migration>([
  [
    1,
    {
      description: "states get an expiry date",
      table: "state",
      steps: [
        "ALTER TABLE state ADD COLUMN expires INTEGER",
        ...pruningTables,
        // Nothing expired before, and no fold had a revision.
        `INSERT INTO fold SELECT DISTINCT name, '1' FROM kind JOIN name ON code = stream`,
      ],
    },
  ],
  [
    2,
    {
      description: "states are stored in the order of their IDs",
      table: "state",
      steps: [
        "DROP INDEX event_stream",
        "DROP INDEX state_expires",
        "ALTER TABLE state RENAME TO state_before",
        ...streamIndexes,
        `INSERT INTO state SELECT instance, id, stream, version, position, created, changed, owner,
           state, expires FROM state_before ORDER BY instance, id, stream`,
        "DROP TABLE state_before",
        pruningTables[1],
      ],
    },
  ],
  [
    3,
    {
      description: "states get checksums",
      table: "state",
      // All states are folded again, which creates their checksums.
      steps: [stateSums, "DELETE FROM fold"],
    },
  ],
  [
    4,
    {
      description: "reserved names get checksums",
      table: "claim",
      steps: [claimSums, addClaimSums],
    },
  ],
  [5, { description: "a table for files is added", steps: blobTables }],
  [
    6,
    {
      description: "reserved names get a number for logs in PostgreSQL",
      table: "claim",
      steps: claimNumbers,
    },
  ],
])

/** Takes a second for a few hundred thousand. */
function addClaimSums(database: Database): void {
  const next = database.prepare<SummedClaim, [string, string, string]>(
    `SELECT * FROM claim WHERE (instance, kind, key) > (?, ?, ?)
     ORDER BY instance, kind, key LIMIT 1000`,
  )
  const set = database.prepare(
    "UPDATE claim SET sum = ? WHERE instance = ? AND kind = ? AND key = ?",
  )
  let rows = next.all("", "", "")
  for (let last = rows.at(-1); last; last = rows.at(-1)) {
    for (const row of rows) set.run(claimSum(row), row.instance, row.kind, row.key)
    rows = next.all(last.instance, last.kind, last.key)
  }
}

/**
 * The log's own tables, the state rows, and the bookkeeping of views and reactors. `name` codes
 * stream and event type names as small numbers; `kind` records where each revision of a type was
 * first written, so that a start can check without a scan that it can read them all. Checksums are
 * CRC-32 over the canonical columns, separately for `private`, so that the rest can be verified
 * after an erasure.
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
  `CREATE TABLE claim (
    instance TEXT NOT NULL,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    stream TEXT NOT NULL,
    id TEXT NOT NULL,
    expires INTEGER,
    PRIMARY KEY (instance, kind, key)
  ) WITHOUT ROWID`,
  claimSums,
  ...claimNumbers,
  "CREATE INDEX claim_expires ON claim (expires) WHERE expires IS NOT NULL",
  ...streamIndexes,
  stateSums,
  ...pruningTables,
  ...blobTables,
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
