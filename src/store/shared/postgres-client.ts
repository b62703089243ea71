import type { SQL } from "bun"
import { type Clock, within } from "../../kernel/clock.ts"
import { Fault } from "../../kernel/fault.ts"
import { oddClockFault } from "./clock-check.ts"

/**
 * What is called without a schema is PostgreSQL's own: whoever else may make things in that
 * database would else have theirs called instead, with the rights of whoever calls.
 */
const parameters = { search_path: "pg_catalog", application_name: "latchkey" }

/** A connection to PostgreSQL that is made anew where it was lost. */
export type PostgresClient = {
  /**
   * One statement, in a transaction of its own; resolves when it is committed. Faults with
   * `unavailable` where the database can't be reached or does not answer in time: then nobody
   * knows whether it happened.
   */
  readonly ask: <Row>(text: string, values?: readonly unknown[]) => Promise<readonly Row[]>
  /** `wake` gets what was said; nothing where something may have been missed. */
  readonly listen: (channel: string, wake: (said: string) => void) => Promise<void>
  readonly close: () => Promise<void>
}

/** A statement takes milliseconds; longer than that waits somebody who holds the log. */
const answerMs = 5000
const connectSeconds = 5

/**
 * Connects with the first statement. What is configured is an address such as
 * `postgres://user:password@host/database?sslmode=verify-full`.
 */
export function postgresClient(url: string, clock: Clock, timeoutMs = answerMs): PostgresClient {
  const made = () =>
    new Bun.SQL(url, {
      max: 1,
      connectionTimeout: connectSeconds,
      connection: { ...parameters, statement_timeout: String(timeoutMs) },
    })
  let sql = made()
  let isClosed = false
  /** Whoever has lost the way, with a cut cable for instance, begins with a new connection. */
  const anew = (lost: SQL) => {
    void lost.close({ timeout: 0 }).catch(() => undefined)
    if (lost === sql && !isClosed) sql = made()
  }
  return {
    ask: async <Row>(text: string, values: readonly unknown[] = []) => {
      const used = sql
      const query = used.unsafe(text, [...values])
      try {
        // The server itself ends what takes too long; that it is gone only a clock of ours tells.
        const late = () => faultFrom(lost)
        // Reason for the cast: a row is what the statement beside the type selects.
        return (await within(clock, timeoutMs + 1000, { work: query, late })) as readonly Row[]
      } catch (cause) {
        const fault = databaseFaultOf(cause)
        if (fault?.id === unreachable) anew(used)
        throw fault ?? cause
      }
    },
    listen: async (channel, wake) => {
      try {
        await sql.listen(channel, wake, () => wake(""))
      } catch (cause) {
        throw databaseFaultOf(cause) ?? cause
      }
    },
    close: async () => {
      isClosed = true
      await sql.close({ timeout: 0 })
    },
  }
}

/** SQLSTATE of an error, or what the client calls it. */
export function codeOf(cause: unknown): string {
  if (!(cause instanceof Bun.SQL.PostgresError)) return ""
  return cause.errno ?? cause.code
}

/**
 * What the database says in plain words; undefined for what is a bug. The codes are those of
 * PostgreSQL's appendix A.
 */
function databaseFaultOf(cause: unknown): Fault | undefined {
  if (cause instanceof Fault) return cause
  if (cause instanceof Bun.SQL.PostgresError && cause.errno === "LK008") {
    return oddClockFault(Number(cause.message), 0)
  }
  const said = wordsOf(cause)
  return said && faultFrom(said, cause)
}

/**
 * The row of a statement that always selects one. Without it the table is empty, as it is for a
 * moment while a dump is put back: like a lost connection, it is worth another try.
 */
export function requireRow<Row>(row: Row | undefined): Row {
  if (row === undefined) throw faultFrom(lost)
  return row
}

type Words = readonly [id: string, message: string]

const faultFrom = ([id, message]: Words, cause?: unknown) =>
  new Fault("unavailable", `store.database_${id}`, message, { cause })

/** Nobody knows whether what was asked has happened. */
export const unreachable = "store.database_unreachable"

function wordsOf(cause: unknown): Words | undefined {
  if (!(cause instanceof Bun.SQL.PostgresError)) return undefined
  const { errno: code, message } = cause
  if (code === undefined) return isOurs(cause.code) ? undefined : lost
  if (/^28/.test(code))
    return ["refused", `PostgreSQL lets nobody in like that (${message}); ${check}`]
  if (code === "3D000") return ["missing", `${message}; make it, or ${check}`]
  if (code === "42501") return ["denied", `PostgreSQL says: ${message}; ${grant}`]
  if (code === "25006") return ["read_only", readOnly]
  if (code === "LK001") return ["taken_over", takenOver]
  if (code === "LK004") return ["away", away]
  if (code === "LK006") return ["moved", message.startsWith("in ") ? movingIn : movedOut]
  if (code === "LK007") return ["newer", newer(message)]
  if (code === "LK005") return ["turned", "another server has taken the database over"]
  if (/^(P0002|3F000|42P01|42883)$/.test(code)) return ["incomplete", incomplete(message)]
  if (/^(53|58)/.test(code)) return ["full", `PostgreSQL says: ${message}; see its own log`]
  if (/^(08|57|40|55)/.test(code)) return lost
  return undefined
}

/** What the client says of how it was used is a bug; all else is about the way to the server. */
const isOurs = (code: string) => /INVALID|UNSUPPORTED|SYNTAX|EXPECTED/.test(code)

const lost = [
  "unreachable",
  "the database does not answer, so nothing can be saved just now; see whether PostgreSQL runs, " +
    "and whether this machine reaches it",
] as const
const check = "check user, password and database in the setting database"
const grant = "the user of the setting database must own its schema latchkey, or may make it"
const readOnly =
  "PostgreSQL lets nothing be written: it is a replica, or was made read-only; the setting " +
  "database must lead to the primary"
const incomplete = (message: string) =>
  `the log in PostgreSQL is incomplete (${message}), so nothing can be read or saved just now; ` +
  "wait until the database is restored"
const takenOver =
  "another process runs with a copy of this data folder, so this one writes nothing any more; " +
  "give each node a folder of its own"
const movingIn =
  "a log is being moved into that database, and is not whole yet; finish that with " +
  "latchkey move --to"
const movedOut =
  "the log was moved out of that database, to the data folder of a node; leave the setting " +
  "database out there, and stop all others"
const newer = (kind: string) =>
  `the log may have events that this version can't read (${kind}): nodes of a newer one have ` +
  "written them; start that version"
const away =
  "this data folder was away for so long that nobody can tell it any more what went meanwhile; " +
  "start with an empty one, which is made anew from the log"

/** The clock of the database, in ms UTC; faults where it can't be asked. */
export async function postgresTime(url: string, clock: Clock): Promise<number> {
  const client = postgresClient(url, clock)
  try {
    const [row] = await client.ask<{ time: number }>(
      "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS time",
    )
    if (!row) throw new Error("PostgreSQL answered with no row")
    return row.time
  } finally {
    await client.close()
  }
}
