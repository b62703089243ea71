import { type Clock, delay } from "../../kernel/clock.ts"
import { Fault } from "../../kernel/fault.ts"
import { version } from "../../kernel/version.ts"
import type { Append } from "../log/log.ts"
import { maxDifferenceMs, requireSynchronizedClock } from "./clock-check.ts"
import {
  codeOf,
  createPostgresClient,
  type PostgresClient,
  requireRow,
  unreachableId,
} from "./postgres-client.ts"
import { createCoordination } from "./postgres-coordination.ts"
import {
  createEpochTracker,
  type EpochTracker,
  type LocalEvents,
  markValues,
  type NodeIdentity,
  takeoverError,
} from "./postgres-epoch.ts"
import { sharedFunctions } from "./postgres-functions.ts"
import { appendReadable, createReaders } from "./postgres-readers.ts"
import {
  oldestSchema,
  oldestServer,
  sharedAdditions,
  sharedSchema,
  sharedTables,
} from "./postgres-schema.ts"
import type {
  AppendOutcome,
  ChainLink,
  LogPage,
  LogPosition,
  SharedLog,
  WrappedKey,
} from "./shared-log.ts"
import {
  encodingError,
  logDiffersError,
  logMissingError,
  masterKeyDiffersError,
  newerSchemaError,
  oldServerError,
  replicaError,
  tooManyNodesError,
} from "./start/error.ts"
import {
  decodeOutcome,
  decodePage,
  encodeSteps,
  escapeText,
  toWholeMs,
  type WirePage,
} from "./wire.ts"

export type PostgresOptions = {
  /** `postgres://user:password@host/database` */
  readonly url: string
  /** The permanent ID of the data directory: the same directory is the same node. */
  readonly folder: string
  /** The log that the directory belongs to; undefined for a new one. */
  readonly follows: string | undefined
  /** The position of the directory in the log. */
  readonly place: LogPosition
  /** The directory's own events, to find the first that differs from the log. */
  readonly events?: LocalEvents | undefined
  /** Revisions of event types that this program can read, by `stream/type`. */
  readonly reads: Readonly<Record<string, number>>
  /** The fingerprint of the master key, which all nodes share. */
  readonly fingerprint: string
  /** Generates unique IDs, for a process and for a new log. */
  readonly fresh: () => string
  readonly clock: Clock
  readonly timeoutMs?: number
}

/** Events and changes per response: a few hundred kilobytes. */
const maxPageRows = 500
/** How long a statement with an unknown outcome is repeated. */
const retryForMs = 5000
const minPauseMs = 25
const maxPauseMs = 1000
/** A shorter timeout for requests that users wait for. */
const shortTimeoutMs = 2000

/**
 * Joins or creates the log in PostgreSQL. Throws a fault with a single-line message, without
 * changing anything.
 */
export async function openPostgresLog(options: PostgresOptions): Promise<SharedLog> {
  const { clock, timeoutMs } = options
  const connection = (ms = timeoutMs) => createPostgresClient(options.url, clock, ms)
  // Reading and listening have their own connections, so that they never wait for a batch; the head
  // has a shorter timeout.
  const [client, reading, listening] = [connection(), connection(), connection()]
  const shortClient = connection(Math.min(shortTimeoutMs, timeoutMs ?? shortTimeoutMs))
  const close = async () =>
    void (await Promise.all([client, reading, listening, shortClient].map((each) => each.close())))
  try {
    const id = await prepareLog(client, options)
    const run = options.fresh()
    const [joinRows] = await client.query<{ node: { part: number; idTime: number } | null }>(
      "SELECT latchkey.join_2($1, $2, $3::bigint, $4, ($5::text)::jsonb) AS node",
      [options.folder, run, options.place.number, version, JSON.stringify(options.reads)],
    )
    const { node } = requireRow(joinRows)
    if (!node) throw tooManyNodesError()
    const { part, idTime } = node
    const identity = [part, run] as const
    const epochs = createEpochTracker(client, identity, options.events)
    await epochs.verify(options.place)
    const readers = createReaders(client, (work) => retryUnknownOutcome({ timeoutMs }, work))
    const append = createAppend(client, identity, { timeoutMs, epochs, clock })
    const read = (after: LogPosition) =>
      epochs.retryAfterTakeover(after, () => readPage(reading, { epochs, clock }, after))
    const isTogether = (steps: readonly Append[], after: LogPosition) =>
      sendSeparatelyIfNeeded(steps, {
        append: (selection) => append(selection, after),
        read: () => read(after),
      })
    return {
      id,
      part,
      idTime,
      close,
      read,
      append: (steps, after) =>
        appendReadable(readers, steps, (remaining) => isTogether(remaining, after)),
      listen: (wake) => listening.listen("latchkey", (payload) => wake(Number(payload))),
      ...createCoordination(shortClient, identity, epochs),
      ...createPruning(client, identity),
      ...createStorage(client),
    }
  } catch (cause) {
    await close()
    throw cause
  }
}

async function readPage(
  client: PostgresClient,
  { epochs, clock }: { readonly epochs: EpochTracker; readonly clock: Clock },
  after: LogPosition,
): Promise<LogPage> {
  const [row] = await client.query<{
    page: WirePage
    mark: ChainLink | null
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
    [after.position, after.number, maxPageRows, ...markValues(after.mark)],
  )
  const { page, mark, epoch, line: timelineRow, time } = requireRow(row)
  requireSynchronizedClock(clock.now(), time)
  // There may have been no write since another server took over.
  if (!timelineRow || epoch !== epochs.current()) throw takeoverError()
  return decodePage(page, { epoch, mark })
}

/** Sends a batch until its outcome is known; its number prevents it from being applied twice. */
function createAppend(
  client: PostgresClient,
  identity: NodeIdentity,
  retryOptions: RetryOptions & { readonly epochs: EpochTracker; readonly clock: Clock },
) {
  const { epochs, clock } = retryOptions
  let batch = 0
  return async (steps: readonly Append[], after: LogPosition) => {
    batch++
    const values = [
      ...identity,
      batch,
      encodeSteps(steps),
      after.position,
      after.number,
      maxPageRows,
    ]
    const marked = markValues(after.mark)
    const send = async () => {
      const [row] = await client.query<{
        answer: { outcomes: AppendOutcome[]; page: WirePage; mark: ChainLink | null }
      }>(
        `SELECT latchkey.append_4($1::integer, $2, $3::bigint, $4::text, $5::bigint,
           $6::bigint, $7::integer, $8::bigint, $9::integer,
           $10::bigint, $11::bigint, $12) AS answer`,
        [...values, clock.now(), maxDifferenceMs, ...marked],
      )
      return requireRow(row).answer
    }
    const { outcomes, page, mark } = await retryUnknownOutcome(retryOptions, () =>
      epochs.retryAfterTakeover(after, send),
    )
    return {
      outcomes: outcomes.map(decodeOutcome),
      page: decodePage(page, { epoch: epochs.current(), mark }),
    }
  }
}

type BatchResult = { readonly outcomes: readonly AppendOutcome[]; readonly page: LogPage }

type BatchSender = {
  readonly append: (steps: readonly Append[]) => Promise<BatchResult>
  readonly read: () => Promise<LogPage>
}

/**
 * Independent transactions are sent together. If the database rejects a value in one, all are
 * rolled back; then each is sent alone, so that only that one fails.
 */
async function sendSeparatelyIfNeeded(
  steps: readonly Append[],
  { append, read }: BatchSender,
): Promise<BatchResult> {
  try {
    return await append(steps)
  } catch (cause) {
    if (!isValueError(cause)) throw cause
  }
  const outcomes: AppendOutcome[] = []
  let lost: unknown
  for (const step of steps) {
    try {
      if (lost !== undefined) throw lost
      outcomes.push(...(await append([step])).outcomes)
    } catch (cause) {
      if (!isValueError(cause)) lost = cause
      outcomes.push({ kind: "refused", cause })
    }
  }
  return { outcomes, page: await read() }
}

/** PostgreSQL errors about values: nothing of the statement was applied. */
const isValueError = (cause: unknown): boolean => /^(22|23|54)/.test(codeOf(cause))

type RetryOptions = { readonly timeoutMs: number | undefined }

async function retryUnknownOutcome<T>(
  { timeoutMs = retryForMs }: RetryOptions,
  work: () => Promise<T>,
): Promise<T> {
  let waitedMs = 0
  for (let ms = minPauseMs; ; ms = Math.min(ms * 2, maxPauseMs)) {
    try {
      return await work()
    } catch (cause) {
      const isUnknown = cause instanceof Fault && cause.id === unreachableId
      if (!isUnknown || waitedMs >= timeoutMs) throw cause
    }
    await delay(ms)
    waitedMs += ms
  }
}

/** Pruning of the shared log, with the position of the node that prunes. */
function createPruning(
  client: PostgresClient,
  identity: NodeIdentity,
): Pick<SharedLog, "drop" | "dropClaims" | "purge" | "trim"> {
  const count = async (call: string, values: readonly unknown[]) => {
    const [row] = await client.query<{ count: number }>(`SELECT latchkey.${call} AS count`, [
      ...identity,
      ...values,
    ])
    return requireRow(row).count
  }
  return {
    drop: (streams) => {
      const named = streams.map(({ instance, stream, id, version, expires }) => ({
        instance: escapeText(instance),
        stream,
        id: escapeText(id),
        version,
        expires: toWholeMs(expires),
      }))
      return count("drop_1($1::integer, $2, ($3::text)::json)", [JSON.stringify(named)])
    },
    dropClaims: (before, limit) =>
      count("drop_claims_1($1::integer, $2, $3::bigint, $4::integer)", [before, limit]),
    purge: (instance, keep, limit) =>
      count("purge_1($1::integer, $2, $3, $4, $5::integer)", [escapeText(instance), keep, limit]),
    trim: async ({ number }, limit) => {
      const changes = await count("trim_1($1::integer, $2, $3::bigint, $4::integer)", [
        number,
        limit,
      ])
      const [row] = await client.query<{ count: number }>(
        "SELECT latchkey.trim_chain_1($1::integer) AS count",
        [limit],
      )
      return Math.max(changes, requireRow(row).count)
    },
  }
}

function createStorage(client: PostgresClient): Pick<SharedLog, "blob" | "keys" | "reached"> {
  return {
    blob: async ({ instance, stream, id, name }) => {
      const [row] = await client.query<{ bytes: Uint8Array }>(
        `SELECT bytes FROM latchkey.blob
         WHERE instance = $1 AND id = $2 AND stream = $3 AND name = $4`,
        [escapeText(instance), escapeText(id), stream, escapeText(name)],
      )
      return row && new Uint8Array(row.bytes)
    },
    keys: async (offered) => {
      await client.query(
        `INSERT INTO latchkey.data_key (id, purpose, wrapped, active)
         SELECT k->>'id', k->>'purpose', k->>'wrapped', (k->>'active')::boolean
         FROM json_array_elements(($1::text)::json) k ON CONFLICT DO NOTHING`,
        [JSON.stringify(offered)],
      )
      return client.query<WrappedKey>("SELECT id, purpose, wrapped, active FROM latchkey.data_key")
    },
    reached: async (positions) => {
      await client.query(
        `INSERT INTO latchkey.reactor (name, position)
         SELECT r->>0, (r->>1)::bigint FROM json_array_elements(($1::text)::json) r
         ON CONFLICT (name) DO UPDATE SET
           position = greatest(latchkey.reactor.position, excluded.position)`,
        [JSON.stringify([...positions])],
      )
      const rows = await client.query<{ name: string; position: number }>(
        "SELECT name, position::float8 AS position FROM latchkey.reactor",
      )
      return new Map(rows.map(({ name, position }) => [name, position]))
    },
  }
}

/** The requirements on a database before it is used. */
export type PrepareOptions = Pick<
  PostgresOptions,
  "fingerprint" | "fresh" | "clock" | "follows" | "place"
>

/** Checks the database, and creates what is missing; returns the ID of the log. */
export async function prepareLog(client: PostgresClient, options: PrepareOptions): Promise<string> {
  const [server] = await client.query<{ version: number; encoding: string; standby: boolean }>(
    `SELECT current_setting('server_version_num')::integer AS version,
       current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS standby`,
  )
  const { version, encoding, standby } = requireRow(server)
  if (version < oldestServer) throw oldServerError(version)
  if (encoding !== "UTF8") throw encodingError(encoding)
  if (standby) throw replicaError()
  const known = (await readLogRow(client)) ?? (await createLog(client, options))
  if (known.oldest > sharedSchema) throw newerSchemaError(known.oldest, sharedSchema)
  if (known.fingerprint !== options.fingerprint) throw masterKeyDiffersError()
  if (options.follows !== undefined && options.follows !== known.id) throw logDiffersError()
  requireSynchronizedClock(options.clock.now(), known.time)
  if (known.schema < sharedSchema) await upgradeLog(client)
  return known.id
}

type LogRow = {
  readonly id: string
  readonly fingerprint: string
  readonly schema: number
  /** The lowest schema version of programs that may use it. */
  readonly oldest: number
  readonly position: number
  /** The database clock, ms UTC. */
  readonly time: number
}

async function readLogRow(client: PostgresClient): Promise<LogRow | undefined> {
  const [table] = await client.query<{ there: boolean }>(
    "SELECT to_regclass('latchkey.log') IS NOT NULL AS there",
  )
  if (!requireRow(table).there) return undefined
  const [row] = await client.query<LogRow>(
    `SELECT id, fingerprint, schema, position::float8 AS position,
       coalesce((to_jsonb(l)->>'oldest')::integer, schema) AS oldest,
       floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS time FROM latchkey.log l`,
  )
  return row
}

/**
 * Creates tables, functions and the single row in one transaction; a concurrent second attempt
 * finds them all.
 */
async function createLog(client: PostgresClient, options: PrepareOptions): Promise<LogRow> {
  if (options.follows !== undefined) throw logMissingError()
  // Both are hexadecimal: multi-statement queries take no parameters.
  const values = [options.fresh(), options.fingerprint].map((text) => `'${requirePlain(text)}'`)
  const [schema] = await client.query<{ there: boolean }>(
    "SELECT to_regnamespace('latchkey') IS NOT NULL AS there",
  )
  const begin = requireRow(schema).there ? "BEGIN" : "BEGIN; CREATE SCHEMA latchkey"
  try {
    await client.query(`${begin}; ${sharedTables} ${sharedAdditions} ${sharedFunctions}
      INSERT INTO latchkey.log (id, fingerprint, schema, oldest)
        VALUES (${values.join(", ")}, ${sharedSchema}, ${oldestSchema});
      COMMIT;`)
  } catch (cause) {
    // Another process was faster.
    if (!/^(42P0[67]|42723|23505|42710)$/.test(codeOf(cause))) throw cause
    await client.query("ROLLBACK")
  }
  return requireRow(await readLogRow(client))
}

/** Upgrades the log of an older version, within a transaction. */
export const upgradeStatements = `SELECT 1 FROM latchkey.log FOR UPDATE;
  ${sharedAdditions} ${sharedFunctions}
  UPDATE latchkey.log SET schema = ${sharedSchema}, oldest = ${oldestSchema};`

/** Concurrent attempts run one after the other. */
const upgradeLog = (client: PostgresClient) => client.query(`BEGIN; ${upgradeStatements} COMMIT;`)

function requirePlain(text: string): string {
  if (!/^[\w:+/=-]*$/.test(text))
    throw new Error("a name sent to PostgreSQL contains invalid characters")
  return text
}
