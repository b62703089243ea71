import type { Database } from "bun:sqlite"
import type { Clock } from "../../kernel/clock.ts"
import { Fault } from "../../kernel/fault.ts"
import type { AnyAggregate } from "../aggregate.ts"
import { openDatabase } from "../log/database.ts"
import { headOf, type Names, namesOf } from "../log/row.ts"
import { numberAt } from "../retention/horizon.ts"
import { folderOf, keepMeta, metaOf } from "../shared/node.ts"
import { type PostgresClient, postgresClient } from "../shared/postgres-client.ts"
import { preparedLog } from "../shared/postgres-log.ts"
import { add, blobsOf, claimsOf, emptySum, eventsOf, isSame, type Sum } from "./filling.ts"
import {
  putBlob,
  putClaims,
  putEvents,
  sumOfBlobs,
  sumOfClaims,
  sumOfEvents,
} from "./postgres-rows.ts"

/** A log and where it goes; nobody else has the file open. */
export type Moving = {
  /** The database file of the data folder. */
  readonly file: string
  readonly aggregates: readonly AnyAggregate[]
  /** `postgres://user:password@host/database` */
  readonly url: string
  /** Of the master key. */
  readonly fingerprint: string
  /** Unlike any other. */
  readonly fresh: () => string
  readonly clock: Clock
}

/** What was moved, and found to be the same on both sides. */
export type Moved = {
  readonly events: number
  readonly claims: number
  readonly files: number
}

/** A page takes milliseconds; a database that is asked for much at once is given time. */
const answerMs = 60_000

type Both = {
  readonly database: Database
  readonly names: Names
  readonly client: PostgresClient
}

async function withBoth<T>(
  { file, aggregates, url, clock }: Moving,
  work: (both: Both) => Promise<T>,
): Promise<T> {
  const { database, mark } = openDatabase(file, aggregates)
  const client = postgresClient(url, clock, answerMs)
  try {
    return await work({ database, names: namesOf(database), client })
  } finally {
    await client.close()
    await mark.release()
    database.close()
    mark.close()
  }
}

/**
 * Copies the log of a data folder into an empty database, and makes the folder that of a node. What
 * was copied when it was cut off need not be copied again. Faults, with the folder as it was, where
 * the database has something else, or what came there is not what is here.
 */
export const moveToPostgres = (moving: Moving): Promise<Moved> =>
  withBoth(moving, async (both) => {
    const { database, client } = both
    const folder = folderOf(database, moving.fresh)
    const nothing = { position: 0, number: 0, epoch: 0 }
    const id = await preparedLog(client, { ...moving, follows: undefined, place: nothing })
    const follows = metaOf(database, "follows")
    if (follows !== undefined && follows !== id) throw elsewhereError()
    await begin(client, folder)
    await copyEvents(both)
    const number = await copyRest(both)
    const moved = await compared(both)
    if (!moved) {
      await client.ask("TRUNCATE latchkey.event, latchkey.claim, latchkey.blob")
      throw differentError()
    }
    // From here on the folder starts with the database alone, and the database with its log alone.
    belongTo(database, id, number)
    await client.ask(
      `UPDATE latchkey.log SET position = $1::bigint, number = $2::bigint, id_time = $3::bigint,
         moving = NULL`,
      [headOf(database), number, idTimeOf(database)],
    )
    return moved
  })

/** Takes an empty database for this folder, or goes on with what the same one began. */
async function begin(client: PostgresClient, folder: string): Promise<void> {
  const [log] = await client.ask<{ moving: string | null }>(
    `UPDATE latchkey.log SET moving = $1 WHERE moving = $1 OR (moving IS NULL AND position = 0
       AND number = 0 AND NOT EXISTS (SELECT 1 FROM latchkey.data_key))
     RETURNING moving`,
    [`in ${folder}`],
  )
  if (!log) throw notEmptyError()
}

async function copyEvents({ database, names, client }: Both): Promise<void> {
  const [last] = await client.ask<{ position: number }>(
    "SELECT coalesce(max(position), 0)::float8 AS position FROM latchkey.event",
  )
  for (const rows of eventsOf({ database, names }, last?.position ?? 0)) {
    await putEvents(client, rows)
  }
}

/** What is not an event, from the beginning; answers the number of the last. */
async function copyRest({ database, client }: Both): Promise<number> {
  const position = headOf(database)
  let number = 0
  await client.ask(
    `TRUNCATE latchkey.claim, latchkey.blob, latchkey.data_key, latchkey.reactor,
       latchkey.failed_event`,
  )
  for (const rows of claimsOf({ database })) {
    await putClaims(client, rows, { number, position })
    number += rows.length
  }
  for (const row of blobsOf({ database })) {
    number++
    await putBlob(client, row, { number, position })
  }
  await putAll(client, database, "data_key", "id, purpose, wrapped, active <> 0 AS active")
  await putAll(client, database, "reactor", "name, position")
  await putAll(client, database, "failed_event", "*")
  return number
}

/** Tables of the same name and columns on both sides, none of them long. */
async function putAll(
  client: PostgresClient,
  database: Database,
  table: "data_key" | "reactor" | "failed_event",
  columns: string,
): Promise<void> {
  const rows = database.query<Record<string, unknown>, []>(`SELECT ${columns} FROM ${table}`).all()
  const shownRows = rows.map((row) =>
    "active" in row ? { ...row, active: row.active === 1 } : row,
  )
  await client.ask(
    `INSERT INTO latchkey.${table}
     SELECT * FROM json_populate_recordset(NULL::latchkey.${table}, ($1::text)::json)`,
    [JSON.stringify(shownRows)],
  )
}

/** Undefined where the two sides are not the same. */
async function compared(
  { database, names, client }: Both,
  isLasting = false,
): Promise<Moved | undefined> {
  const [events, claims, files] = [emptySum(), emptySum(), emptySum()]
  for (const rows of eventsOf({ database, names }, 0)) add(events, rows)
  for (const rows of claimsOf({ database }, isLasting)) add(claims, rows)
  for (const row of blobsOf({ database })) add(files, [row])
  const pairs: readonly (readonly [Sum, Sum])[] = [
    [events, await sumOfEvents(client)],
    [claims, await sumOfClaims(client, isLasting)],
    [files, await sumOfBlobs(client)],
  ]
  if (!pairs.every(([one, other]) => isSame(one, other))) return undefined
  return { events: events.count, claims: claims.count, files: files.count }
}

/** The file is that of a node now, whose claims have the numbers that the log knows them by. */
function belongTo(database: Database, id: string, number: number): void {
  const set = database.prepare<unknown, []>(
    `UPDATE claim SET number = of.nth FROM (SELECT instance, kind, key,
       row_number() OVER (ORDER BY instance, kind, key) AS nth FROM claim) of
     WHERE claim.instance = of.instance AND claim.kind = of.kind AND claim.key = of.key`,
  )
  database.transaction(() => {
    set.run()
    keepMeta(database, "follows", id)
    const put = database.prepare<unknown, [string, string]>(
      "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)",
    )
    put.run("log_number", `${number}`)
    put.run("log_epoch", "0")
  })()
  database.run("PRAGMA wal_checkpoint(FULL)")
}

/**
 * Makes the folder of a node that has all of the log one with a log of its own, once it was found
 * to be the same; nobody can use the one in the database any more then. Faults, with both as they
 * were, where a node still writes, or the two differ.
 */
export const moveFromPostgres = (moving: Moving): Promise<Moved> =>
  withBoth(moving, async (both) => {
    const { database, client } = both
    const folder = folderOf(database, moving.fresh)
    const [log] = await client.ask<{ id: string }>("SELECT id FROM latchkey.log")
    if (log?.id !== metaOf(database, "follows")) throw elsewhereError()
    const [left] = await client.ask<{ epoch: number }>(
      `UPDATE latchkey.log SET moving = $1, epoch = epoch + 1
       WHERE moving = $1 OR (moving IS NULL AND position = $2::bigint) RETURNING epoch`,
      [`out ${folder}`, headOf(database)],
    )
    if (!left) throw busyError()
    const moved = await compared(both, true)
    if (!moved) {
      await client.ask("UPDATE latchkey.log SET moving = NULL")
      throw differentError()
    }
    database.transaction(() => {
      database.run(
        "DELETE FROM meta WHERE key IN ('follows', 'log_number', 'log_epoch', 'log_mark')",
      )
      database.run("UPDATE claim SET number = NULL")
      database
        .query("INSERT OR REPLACE INTO meta (key, value) VALUES ('ids', ?)")
        .run(`${idTimeOf(database)}`)
    })()
    database.run("PRAGMA wal_checkpoint(FULL)")
    return moved
  })

/** The time within the newest id that may have been made. */
function idTimeOf(database: Database): number {
  const event = database.query<{ time: number }, []>("SELECT max(time) AS time FROM event").get()
  return Math.max(event?.time ?? 0, numberAt(database, "ids"))
}

const moveError = (id: string, message: string) =>
  new Fault("failed_precondition", `move.${id}`, message)

const notEmptyError = () =>
  moveError(
    "not_empty",
    "the database has a log already, or a server waits there to be set up; nothing was " +
      "changed. Name an empty database",
  )
const elsewhereError = () =>
  moveError(
    "elsewhere",
    "this data folder belongs to another log than the one in that database; nothing was changed",
  )
const differentError = () =>
  moveError(
    "different",
    "what is in the database is not what is in the data folder, so nothing was moved; see that " +
      "no server runs, and try again",
  )
const busyError = () =>
  moveError(
    "busy",
    "a node has written meanwhile, or the log was moved elsewhere; stop all nodes and try again",
  )
