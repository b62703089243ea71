import { type Clock, pause } from "../../kernel/clock.ts"
import { Fault } from "../../kernel/fault.ts"
import { version } from "../../kernel/version.ts"
import type { Append } from "../log/log.ts"
import { oddMs, refuseOddClock } from "./clock-check.ts"
import {
  codeOf,
  type PostgresClient,
  postgresClient,
  requireRow,
  unreachable,
} from "./postgres-client.ts"
import {
  type Epochs,
  epochsOf,
  type LocalEvents,
  type Me,
  markValues,
  turnedError,
} from "./postgres-epoch.ts"
import { sharedFunctions } from "./postgres-functions.ts"
import { readersOf, withoutEarly } from "./postgres-readers.ts"
import {
  oldestSchema,
  oldestServer,
  sharedAdditions,
  sharedSchema,
  sharedTables,
} from "./postgres-schema.ts"
import { standingOf } from "./postgres-standing.ts"
import type { Mark, Outcome, Page, Place, SharedLog, WrappedKey } from "./shared-log.ts"
import {
  crowdedError,
  encodingError,
  goneError,
  newerError,
  oldServerError,
  otherKeyError,
  otherLogError,
  replicaError,
} from "./start/error.ts"
import { outcomeFrom, pageOf, shown, stepsText, type WirePage, wholeMs } from "./wire.ts"

export type PostgresOptions = {
  /** `postgres://user:password@host/database` */
  readonly url: string
  /** Names the data folder, forever; whose folder is the same is the same node. */
  readonly folder: string
  /** The log that the folder belongs to already; undefined for a new one. */
  readonly follows: string | undefined
  /** How far the folder has come. */
  readonly place: Place
  /** The folder's own events, to find the first that differs from the log's. */
  readonly events?: LocalEvents | undefined
  /** Revisions of event types that this program reads, by `stream/type`. */
  readonly reads: Readonly<Record<string, number>>
  /** Of the master key, which all nodes share. */
  readonly fingerprint: string
  /** Unlike any other: of a process, and of a log where there is none yet. */
  readonly fresh: () => string
  readonly clock: Clock
  readonly timeoutMs?: number
}

/** Events and changes in one answer: some hundred kilobytes. */
const pageMax = 500
/** What may have happened or not is asked again for so long. */
const patienceMs = 5000
const firstMs = 25
const lastMs = 1000
/** Somebody waits for it with every answer. */
const soonMs = 2000

/** Joins the log in PostgreSQL, or makes it. Faults with one plain line, and nothing changed. */
export async function openPostgresLog(options: PostgresOptions): Promise<SharedLog> {
  const { clock, timeoutMs } = options
  const connection = (ms = timeoutMs) => postgresClient(options.url, clock, ms)
  // Who reads, or listens, never waits behind a batch; who asks for the head is told soon.
  const [client, reading, listening] = [connection(), connection(), connection()]
  const soon = connection(Math.min(soonMs, timeoutMs ?? soonMs))
  const close = async () =>
    void (await Promise.all([client, reading, listening, soon].map((each) => each.close())))
  try {
    const id = await preparedLog(client, options)
    const run = options.fresh()
    const [joined] = await client.ask<{ node: { part: number; idTime: number } | null }>(
      "SELECT latchkey.join_2($1, $2, $3::bigint, $4, ($5::text)::jsonb) AS node",
      [options.folder, run, options.place.number, version, JSON.stringify(options.reads)],
    )
    const { node } = requireRow(joined)
    if (!node) throw crowdedError()
    const { part, idTime } = node
    const me = [part, run] as const
    const epochs = epochsOf(client, me, options.events)
    await epochs.turn(options.place)
    const readers = readersOf(client, (work) => insisting({ timeoutMs }, work))
    const append = appending(client, me, { timeoutMs, epochs, clock })
    const read = (after: Place) =>
      epochs.within(after, () => pageAfter(reading, { epochs, clock }, after))
    const together = (steps: readonly Append[], after: Place) =>
      apartIfNeeded(steps, { append: (some) => append(some, after), read: () => read(after) })
    return {
      id,
      part,
      idTime,
      close,
      read,
      append: (steps, after) => withoutEarly(readers, steps, (rest) => together(rest, after)),
      listen: (wake) => listening.listen("latchkey", (said) => wake(Number(said))),
      ...standingOf(soon, me, epochs),
      ...upkeepOf(client, me),
      ...keepingOf(client),
    }
  } catch (cause) {
    await close()
    throw cause
  }
}

async function pageAfter(
  client: PostgresClient,
  { epochs, clock }: { readonly epochs: Epochs; readonly clock: Clock },
  after: Place,
): Promise<Page> {
  const [row] = await client.ask<{
    page: WirePage
    mark: Mark | null
    epoch: number
    line: boolean
    time: number
  }>(
    `SELECT page, latchkey.mark_1((page->>'position')::bigint, (page->>'number')::bigint) AS mark,
       epoch, timeline = latchkey.timeline_2()
         AND latchkey.has_1($4::bigint, $5::bigint, $6) AS line,
       floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS time
     FROM latchkey.log, LATERAL (
       SELECT latchkey.page_1($1::bigint, $2::bigint, $3::integer) AS page OFFSET 0
     ) p`,
    [after.position, after.number, pageMax, ...markValues(after.mark)],
  )
  const { page, mark, epoch, line, time } = requireRow(row)
  refuseOddClock(clock.now(), time)
  // Nobody may have written since another server has taken over.
  if (!line || epoch !== epochs.now()) throw turnedError()
  return pageOf(page, { epoch, mark })
}

/** Sends a batch until its outcome is known: sent twice it happens once, by its number. */
function appending(
  client: PostgresClient,
  me: Me,
  how: Insistence & { readonly epochs: Epochs; readonly clock: Clock },
) {
  const { epochs, clock } = how
  let batch = 0
  return async (steps: readonly Append[], after: Place) => {
    batch++
    const values = [...me, batch, stepsText(steps), after.position, after.number, pageMax]
    const marked = markValues(after.mark)
    const send = async () => {
      const [row] = await client.ask<{
        answer: { outcomes: Outcome[]; page: WirePage; mark: Mark | null }
      }>(
        `SELECT latchkey.append_4($1::integer, $2, $3::bigint, $4::text, $5::bigint,
           $6::bigint, $7::integer, $8::bigint, $9::integer,
           $10::bigint, $11::bigint, $12) AS answer`,
        [...values, clock.now(), oddMs, ...marked],
      )
      return requireRow(row).answer
    }
    const { outcomes, page, mark } = await insisting(how, () => epochs.within(after, send))
    return {
      outcomes: outcomes.map(outcomeFrom),
      page: pageOf(page, { epoch: epochs.now(), mark }),
    }
  }
}

type Answered = { readonly outcomes: readonly Outcome[]; readonly page: Page }

type Sending = {
  readonly append: (steps: readonly Append[]) => Promise<Answered>
  readonly read: () => Promise<Page>
}

/**
 * Steps of people who have nothing to do with each other go together. One that the database can't
 * read undoes them all, so then each goes alone, and that one fails nobody but whoever sent it.
 */
async function apartIfNeeded(
  steps: readonly Append[],
  { append, read }: Sending,
): Promise<Answered> {
  try {
    return await append(steps)
  } catch (cause) {
    if (!isOfValues(cause)) throw cause
  }
  const outcomes: Outcome[] = []
  let lost: unknown
  for (const step of steps) {
    try {
      if (lost !== undefined) throw lost
      outcomes.push(...(await append([step])).outcomes)
    } catch (cause) {
      if (!isOfValues(cause)) lost = cause
      outcomes.push({ kind: "refused", cause })
    }
  }
  return { outcomes, page: await read() }
}

/** Of PostgreSQL's errors those about what it was handed: nothing of the statement has happened. */
const isOfValues = (cause: unknown): boolean => /^(22|23|54)/.test(codeOf(cause))

type Insistence = { readonly timeoutMs: number | undefined }

async function insisting<T>(
  { timeoutMs = patienceMs }: Insistence,
  work: () => Promise<T>,
): Promise<T> {
  let waited = 0
  for (let ms = firstMs; ; ms = Math.min(ms * 2, lastMs)) {
    try {
      return await work()
    } catch (cause) {
      const isUnknown = cause instanceof Fault && cause.id === unreachable
      if (!isUnknown || waited >= timeoutMs) throw cause
    }
    await pause(ms)
    waited += ms
  }
}

/** What is dropped, and the place of the node that it is dropped by. */
function upkeepOf(
  client: PostgresClient,
  me: Me,
): Pick<SharedLog, "drop" | "dropClaims" | "purge" | "trim"> {
  const count = async (call: string, values: readonly unknown[]) => {
    const [row] = await client.ask<{ count: number }>(`SELECT latchkey.${call} AS count`, [
      ...me,
      ...values,
    ])
    return requireRow(row).count
  }
  return {
    drop: (streams) => {
      const named = streams.map(({ instance, stream, id, version, expires }) => ({
        instance: shown(instance),
        stream,
        id: shown(id),
        version,
        expires: wholeMs(expires),
      }))
      return count("drop_1($1::integer, $2, ($3::text)::json)", [JSON.stringify(named)])
    },
    dropClaims: (before, limit) =>
      count("drop_claims_1($1::integer, $2, $3::bigint, $4::integer)", [before, limit]),
    purge: (instance, keep, limit) =>
      count("purge_1($1::integer, $2, $3, $4, $5::integer)", [shown(instance), keep, limit]),
    trim: async ({ number }, limit) => {
      const changes = await count("trim_1($1::integer, $2, $3::bigint, $4::integer)", [
        number,
        limit,
      ])
      const [row] = await client.ask<{ count: number }>(
        "SELECT latchkey.trim_chain_1($1::integer) AS count",
        [limit],
      )
      return Math.max(changes, requireRow(row).count)
    },
  }
}

function keepingOf(client: PostgresClient): Pick<SharedLog, "blob" | "keys" | "reached"> {
  return {
    blob: async ({ instance, stream, id, name }) => {
      const [row] = await client.ask<{ bytes: Uint8Array }>(
        `SELECT bytes FROM latchkey.blob
         WHERE instance = $1 AND id = $2 AND stream = $3 AND name = $4`,
        [shown(instance), shown(id), stream, shown(name)],
      )
      return row && new Uint8Array(row.bytes)
    },
    keys: async (offered) => {
      await client.ask(
        `INSERT INTO latchkey.data_key (id, purpose, wrapped, active)
         SELECT k->>'id', k->>'purpose', k->>'wrapped', (k->>'active')::boolean
         FROM json_array_elements(($1::text)::json) k ON CONFLICT DO NOTHING`,
        [JSON.stringify(offered)],
      )
      return client.ask<WrappedKey>("SELECT id, purpose, wrapped, active FROM latchkey.data_key")
    },
    reached: async (positions) => {
      await client.ask(
        `INSERT INTO latchkey.reactor (name, position)
         SELECT r->>0, (r->>1)::bigint FROM json_array_elements(($1::text)::json) r
         ON CONFLICT (name) DO UPDATE SET
           position = greatest(latchkey.reactor.position, excluded.position)`,
        [JSON.stringify([...positions])],
      )
      const rows = await client.ask<{ name: string; position: number }>(
        "SELECT name, position::float8 AS position FROM latchkey.reactor",
      )
      return new Map(rows.map(({ name, position }) => [name, position]))
    },
  }
}

/** What is asked of a database before anything is done with it. */
export type Preparing = Pick<
  PostgresOptions,
  "fingerprint" | "fresh" | "clock" | "follows" | "place"
>

/** Looks at the database, and makes what is not there yet; answers the name of the log. */
export async function preparedLog(client: PostgresClient, options: Preparing): Promise<string> {
  const [server] = await client.ask<{ version: number; encoding: string; standby: boolean }>(
    `SELECT current_setting('server_version_num')::integer AS version,
       current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS standby`,
  )
  const { version, encoding, standby } = requireRow(server)
  if (version < oldestServer) throw oldServerError(version)
  if (encoding !== "UTF8") throw encodingError(encoding)
  if (standby) throw replicaError()
  const known = (await rowOf(client)) ?? (await create(client, options))
  if (known.oldest > sharedSchema) throw newerError(known.oldest, sharedSchema)
  if (known.fingerprint !== options.fingerprint) throw otherKeyError()
  if (options.follows !== undefined && options.follows !== known.id) throw otherLogError()
  refuseOddClock(options.clock.now(), known.time)
  if (known.schema < sharedSchema) await renew(client)
  return known.id
}

type LogRow = {
  readonly id: string
  readonly fingerprint: string
  readonly schema: number
  /** The lowest schema whose programs may use it. */
  readonly oldest: number
  readonly position: number
  /** By the clock of the database, ms UTC. */
  readonly time: number
}

async function rowOf(client: PostgresClient): Promise<LogRow | undefined> {
  const [table] = await client.ask<{ there: boolean }>(
    "SELECT to_regclass('latchkey.log') IS NOT NULL AS there",
  )
  if (!requireRow(table).there) return undefined
  const [row] = await client.ask<LogRow>(
    `SELECT id, fingerprint, schema, position::float8 AS position,
       coalesce((to_jsonb(l)->>'oldest')::integer, schema) AS oldest,
       floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS time FROM latchkey.log l`,
  )
  return row
}

/** Tables, functions and the one row at once; of two who try the second finds all there. */
async function create(client: PostgresClient, options: Preparing): Promise<LogRow> {
  if (options.follows !== undefined) throw goneError()
  // Both are hexadecimal: a statement of several parts takes no values.
  const values = [options.fresh(), options.fingerprint].map((text) => `'${plain(text)}'`)
  const [schema] = await client.ask<{ there: boolean }>(
    "SELECT to_regnamespace('latchkey') IS NOT NULL AS there",
  )
  const begin = requireRow(schema).there ? "BEGIN" : "BEGIN; CREATE SCHEMA latchkey"
  try {
    await client.ask(`${begin}; ${sharedTables} ${sharedAdditions} ${sharedFunctions}
      INSERT INTO latchkey.log (id, fingerprint, schema, oldest)
        VALUES (${values.join(", ")}, ${sharedSchema}, ${oldestSchema});
      COMMIT;`)
  } catch (cause) {
    // Somebody else was quicker.
    if (!/^(42P0[67]|42723|23505|42710)$/.test(codeOf(cause))) throw cause
    await client.ask("ROLLBACK")
  }
  return requireRow(await rowOf(client))
}

/** What makes a log of an older version one of this version, within a transaction. */
export const renewal = `SELECT 1 FROM latchkey.log FOR UPDATE; ${sharedAdditions} ${sharedFunctions}
  UPDATE latchkey.log SET schema = ${sharedSchema}, oldest = ${oldestSchema};`

/** Of two who try at once both do, one after the other. */
const renew = (client: PostgresClient) => client.ask(`BEGIN; ${renewal} COMMIT;`)

function plain(text: string): string {
  if (!/^[\w:+/=-]*$/.test(text)) throw new Error("a name that PostgreSQL is told has odd letters")
  return text
}
