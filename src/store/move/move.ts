import type { Database } from "bun:sqlite"
import type { Clock } from "../../kernel/clock.ts"
import { Fault } from "../../kernel/fault.ts"
import type { AnyAggregate } from "../aggregate.ts"
import { openDatabase } from "../log/database.ts"
import { createNames, headOf, type Names } from "../log/row.ts"
import { readNumber } from "../retention/horizon.ts"
import { ensureFolderId, readMeta, writeMeta } from "../shared/node.ts"
import { createPostgresClient, type PostgresClient } from "../shared/postgres-client.ts"
import { prepareLog } from "../shared/postgres-log.ts"
import {
  addToSum,
  emptySum,
  isSameSum,
  type RowSum,
  readBlobs,
  readClaimPages,
  readEventPages,
} from "./log-rows.ts"
import {
  insertBlob,
  insertClaims,
  insertEvents,
  sumBlobs,
  sumClaims,
  sumEvents,
} from "./postgres-rows.ts"

/** A log to move, and its destination; no other process has the file open. */
export type MoveOptions = {
  /** The database file in the data directory. */
  readonly file: string
  readonly aggregates: readonly AnyAggregate[]
  /** `postgres://user:password@host/database` */
  readonly url: string
  /** The fingerprint of the master key. */
  readonly fingerprint: string
  /** Generates a unique ID. */
  readonly fresh: () => string
  readonly clock: Clock
}

/** The number of rows that were moved and verified. */
export type MoveResult = {
  readonly events: number
  readonly claims: number
  readonly files: number
}

/** A page takes milliseconds; the timeout leaves time for a busy database. */
const responseTimeoutMs = 60_000

type MoveContext = {
  readonly database: Database
  readonly names: Names
  readonly client: PostgresClient
}

async function withContext<T>(
  { file, aggregates, url, clock }: MoveOptions,
  work: (context: MoveContext) => Promise<T>,
): Promise<T> {
  const { database, mark } = openDatabase(file, aggregates)
  const client = createPostgresClient(url, clock, responseTimeoutMs)
  try {
    return await work({ database, names: createNames(database), client })
  } finally {
    await client.close()
    await mark.release()
    database.close()
    mark.close()
  }
}

/**
 * Copies the log of a data directory into an empty database, and turns the directory into that of a
 * node. After an interruption, already copied data is kept. Throws, without changing the directory,
 * if the database contains other data or the copy differs.
 */
export const moveToPostgres = (options: MoveOptions): Promise<MoveResult> =>
  withContext(options, async (context) => {
    const { database, client } = context
    const folder = ensureFolderId(database, options.fresh)
    const nothing = { position: 0, number: 0, epoch: 0 }
    const id = await prepareLog(client, { ...options, follows: undefined, place: nothing })
    const follows = readMeta(database, "follows")
    if (follows !== undefined && follows !== id) throw elsewhereError()
    await reserveDatabase(client, folder)
    await copyEvents(context)
    const number = await copyOtherTables(context)
    const result = await compareSides(context)
    if (!result) {
      await client.query("TRUNCATE latchkey.event, latchkey.claim, latchkey.blob")
      throw differentError()
    }
    // From here on, directory and database only work together.
    joinLog(database, id, number)
    await client.query(
      `UPDATE latchkey.log SET position = $1::bigint, number = $2::bigint, id_time = $3::bigint,
         moving = NULL`,
      [headOf(database), number, newestIdTime(database)],
    )
    return result
  })

/** Reserves an empty database for this data directory, or resumes an interrupted copy from it. */
async function reserveDatabase(client: PostgresClient, folder: string): Promise<void> {
  const [log] = await client.query<{ moving: string | null }>(
    `UPDATE latchkey.log SET moving = $1 WHERE moving = $1 OR (moving IS NULL AND position = 0
       AND number = 0 AND NOT EXISTS (SELECT 1 FROM latchkey.data_key))
     RETURNING moving`,
    [`in ${folder}`],
  )
  if (!log) throw notEmptyError()
}

async function copyEvents({ database, names, client }: MoveContext): Promise<void> {
  const [last] = await client.query<{ position: number }>(
    "SELECT coalesce(max(position), 0)::float8 AS position FROM latchkey.event",
  )
  for (const rows of readEventPages({ database, names }, last?.position ?? 0)) {
    await insertEvents(client, rows)
  }
}

/** Copies everything except events from the start; returns the last claim number. */
async function copyOtherTables({ database, client }: MoveContext): Promise<number> {
  const position = headOf(database)
  let number = 0
  await client.query(
    `TRUNCATE latchkey.claim, latchkey.blob, latchkey.data_key, latchkey.reactor,
       latchkey.failed_event`,
  )
  for (const rows of readClaimPages({ database })) {
    await insertClaims(client, rows, { number, position })
    number += rows.length
  }
  for (const row of readBlobs({ database })) {
    number++
    await insertBlob(client, row, { number, position })
  }
  await copyTable(client, database, "data_key", "id, purpose, wrapped, active <> 0 AS active")
  await copyTable(client, database, "reactor", "name, position")
  await copyTable(client, database, "failed_event", "*")
  return number
}

/** Copies a small table with the same name and columns on both sides. */
async function copyTable(
  client: PostgresClient,
  database: Database,
  table: "data_key" | "reactor" | "failed_event",
  columns: string,
): Promise<void> {
  const rows = database.query<Record<string, unknown>, []>(`SELECT ${columns} FROM ${table}`).all()
  const shownRows = rows.map((row) =>
    "active" in row ? { ...row, active: row.active === 1 } : row,
  )
  await client.query(
    `INSERT INTO latchkey.${table}
     SELECT * FROM json_populate_recordset(NULL::latchkey.${table}, ($1::text)::json)`,
    [JSON.stringify(shownRows)],
  )
}

/** Compares both sides; undefined if they differ. */
async function compareSides(
  { database, names, client }: MoveContext,
  onlyPermanent = false,
): Promise<MoveResult | undefined> {
  const [events, claims, files] = [emptySum(), emptySum(), emptySum()]
  for (const rows of readEventPages({ database, names }, 0)) addToSum(events, rows)
  for (const rows of readClaimPages({ database }, onlyPermanent)) addToSum(claims, rows)
  for (const row of readBlobs({ database })) addToSum(files, [row])
  const pairs: readonly (readonly [RowSum, RowSum])[] = [
    [events, await sumEvents(client)],
    [claims, await sumClaims(client, onlyPermanent)],
    [files, await sumBlobs(client)],
  ]
  if (!pairs.every(([one, other]) => isSameSum(one, other))) return undefined
  return { events: events.count, claims: claims.count, files: files.count }
}

/** Marks the file as that of a node, with the claim numbers of the shared log. */
function joinLog(database: Database, id: string, number: number): void {
  const set = database.prepare<unknown, []>(
    `UPDATE claim SET number = of.nth FROM (SELECT instance, kind, key,
       row_number() OVER (ORDER BY instance, kind, key) AS nth FROM claim) of
     WHERE claim.instance = of.instance AND claim.kind = of.kind AND claim.key = of.key`,
  )
  database.transaction(() => {
    set.run()
    writeMeta(database, "follows", id)
    const put = database.prepare<unknown, [string, string]>(
      "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)",
    )
    put.run("log_number", `${number}`)
    put.run("log_epoch", "0")
  })()
  database.run("PRAGMA wal_checkpoint(FULL)")
}

/**
 * Turns the directory of an up-to-date node into one with its own log, after comparing them; the
 * log in the database is then disabled. Throws, without changing either, if a node is still writing
 * or the two differ.
 */
export const moveFromPostgres = (options: MoveOptions): Promise<MoveResult> =>
  withContext(options, async (context) => {
    const { database, client } = context
    const folder = ensureFolderId(database, options.fresh)
    const [log] = await client.query<{ id: string }>("SELECT id FROM latchkey.log")
    if (log?.id !== readMeta(database, "follows")) throw elsewhereError()
    const [remaining] = await client.query<{ epoch: number }>(
      `UPDATE latchkey.log SET moving = $1, epoch = epoch + 1
       WHERE moving = $1 OR (moving IS NULL AND position = $2::bigint) RETURNING epoch`,
      [`out ${folder}`, headOf(database)],
    )
    if (!remaining) throw busyError()
    const result = await compareSides(context, true)
    if (!result) {
      await client.query("UPDATE latchkey.log SET moving = NULL")
      throw differentError()
    }
    database.transaction(() => {
      database.run(
        "DELETE FROM meta WHERE key IN ('follows', 'log_number', 'log_epoch', 'log_mark')",
      )
      database.run("UPDATE claim SET number = NULL")
      database
        .query("INSERT OR REPLACE INTO meta (key, value) VALUES ('ids', ?)")
        .run(`${newestIdTime(database)}`)
    })()
    database.run("PRAGMA wal_checkpoint(FULL)")
    return result
  })

/** The time in the newest ID that may have been generated. */
function newestIdTime(database: Database): number {
  const event = database.query<{ time: number }, []>("SELECT max(time) AS time FROM event").get()
  return Math.max(event?.time ?? 0, readNumber(database, "ids"))
}

const moveError = (id: string, message: string) =>
  new Fault("failed_precondition", `move.${id}`, message)

const notEmptyError = () =>
  moveError(
    "not_empty",
    "the database already contains a log, or a server waits for its setup; nothing was " +
      "changed. Name an empty database",
  )
const elsewhereError = () =>
  moveError(
    "elsewhere",
    "this data directory belongs to a different log than the one in the database; nothing " +
      "was changed",
  )
const differentError = () =>
  moveError(
    "different",
    "the database and the data directory differ, so nothing was moved; make sure that no " +
      "server is running, and try again",
  )
const busyError = () =>
  moveError(
    "busy",
    "a node has written in the meantime, or the log was moved elsewhere; stop all nodes " +
      "and try again",
  )
