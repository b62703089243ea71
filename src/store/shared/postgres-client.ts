import type { SQL } from "bun"
import { type Clock, withTimeout } from "../../kernel/clock.ts"
import { Fault } from "../../kernel/fault.ts"
import { clockFault } from "./clock-check.ts"

/**
 * Unqualified names resolve to PostgreSQL's own functions: otherwise another user of the database
 * could create functions that are called instead, with this user's rights.
 */
const parameters = { search_path: "pg_catalog", application_name: "latchkey" }

/** A connection to PostgreSQL that reconnects automatically. */
export type PostgresClient = {
  /**
   * Runs one statement in its own transaction; resolves when it is committed. Throws `unavailable`
   * if the database can't be reached or does not respond in time; the statement may have been
   * executed.
   */
  readonly query: <Row>(text: string, values?: readonly unknown[]) => Promise<readonly Row[]>
  /** `wake` receives the payload; an empty text if notifications may have been missed. */
  readonly listen: (channel: string, wake: (payload: string) => void) => Promise<void>
  readonly close: () => Promise<void>
}

/** A statement takes milliseconds; longer waits mean that another node holds the log. */
const responseTimeoutMs = 5000
const connectSeconds = 5

/**
 * Connects on the first statement. `url` is for example
 * `postgres://user:password@host/database?sslmode=verify-full`.
 */
export function createPostgresClient(
  url: string,
  clock: Clock,
  timeoutMs = responseTimeoutMs,
): PostgresClient {
  const connection = () =>
    new Bun.SQL(url, {
      max: 1,
      connectionTimeout: connectSeconds,
      connection: { ...parameters, statement_timeout: String(timeoutMs) },
    })
  let sql = connection()
  let isClosed = false
  /** A lost connection, for example after a network failure, is replaced by a new one. */
  const reconnect = (lostConnection: SQL) => {
    void lostConnection.close({ timeout: 0 }).catch(() => undefined)
    if (lostConnection === sql && !isClosed) sql = connection()
  }
  return {
    query: async <Row>(text: string, values: readonly unknown[] = []) => {
      const used = sql
      const query = used.unsafe(text, [...values])
      try {
        // The server cancels slow statements itself; only a local timeout detects a lost server.
        const timeoutError = () => databaseFault(unreachableText)
        const rows = await withTimeout(clock, timeoutMs + 1000, { work: query, timeoutError })
        // Reason for the cast: the statement next to the type selects these columns.
        return rows as readonly Row[]
      } catch (cause) {
        const fault = databaseFaultOf(cause)
        if (fault?.id === unreachableId) reconnect(used)
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

/** The SQLSTATE of an error, or the client's code. */
export function codeOf(cause: unknown): string {
  if (!(cause instanceof Bun.SQL.PostgresError)) return ""
  return cause.errno ?? cause.code
}

/** A fault for a database error; undefined for bugs. The codes are from PostgreSQL's appendix A. */
function databaseFaultOf(cause: unknown): Fault | undefined {
  if (cause instanceof Fault) return cause
  if (cause instanceof Bun.SQL.PostgresError && cause.errno === "LK008") {
    return clockFault(Number(cause.message), 0)
  }
  const payload = faultTextOf(cause)
  return payload && databaseFault(payload, cause)
}

/**
 * Returns the row of a statement that always selects one. Without it the table is empty, as during
 * the restore of a dump: worth a retry, like a lost connection.
 */
export function requireRow<Row>(row: Row | undefined): Row {
  if (row === undefined) throw databaseFault(unreachableText)
  return row
}

type FaultText = readonly [id: string, message: string]

const databaseFault = ([id, message]: FaultText, cause?: unknown) =>
  new Fault("unavailable", `store.database_${id}`, message, { cause })

/** The fault ID if it is unknown whether a statement was executed. */
export const unreachableId = "store.database_unreachable"

function faultTextOf(cause: unknown): FaultText | undefined {
  if (!(cause instanceof Bun.SQL.PostgresError)) return undefined
  const { errno: code, message } = cause
  if (code === undefined) return isClientMisuse(cause.code) ? undefined : unreachableText
  if (/^28/.test(code))
    return ["refused", `PostgreSQL rejects the connection (${message}); ${checkHint}`]
  if (code === "3D000") return ["missing", `${message}; create it, or ${checkHint}`]
  if (code === "42501") return ["denied", `PostgreSQL reports: ${message}; ${grantHint}`]
  if (code === "25006") return ["read_only", readOnlyText]
  if (code === "LK001") return ["taken_over", takenOverText]
  if (code === "LK004") return ["away", awayText]
  if (code === "LK006") return ["moved", message.startsWith("in ") ? movingInText : movedOutText]
  if (code === "LK007") return ["newer", newerText(message)]
  if (code === "LK005") return ["turned", "another server has taken over the database"]
  if (/^(P0002|3F000|42P01|42883)$/.test(code)) return ["incomplete", incompleteText(message)]
  if (/^(53|58)/.test(code)) return ["full", `PostgreSQL reports: ${message}; see its log`]
  if (/^(08|57|40|55)/.test(code)) return unreachableText
  return undefined
}

/** Errors about the use of the client are bugs; all others concern the connection. */
const isClientMisuse = (code: string) => /INVALID|UNSUPPORTED|SYNTAX|EXPECTED/.test(code)

const unreachableText = [
  "unreachable",
  "the database does not respond, so nothing can be saved at the moment; check whether " +
    "PostgreSQL is running and this machine can reach it",
] as const
const checkHint = "check the user, password and database in the setting database"
const grantHint =
  "the user in the setting database must own the schema latchkey, or be allowed to create it"
const readOnlyText =
  "PostgreSQL is read-only, for example because it is a replica; the setting database must " +
  "point to the primary"
const incompleteText = (message: string) =>
  `the log in PostgreSQL is incomplete (${message}), so nothing can be read or saved at ` +
  "the moment; wait until the database is restored"
const takenOverText =
  "another process is running with a copy of this data directory, so this one no longer " +
  "writes; give each node its own data directory"
const movingInText =
  "a log is being moved into that database and is not complete yet; finish the move with " +
  "latchkey move --to"
const movedOutText =
  "the log was moved from that database to the data directory of a node; remove the " +
  "setting database there, and stop all other nodes"
const newerText = (kind: string) =>
  `the log may contain events that this version can't read (${kind}), written by nodes of ` +
  "a newer version; start that version"
const awayText =
  "this data directory was offline for too long to catch up; start with an empty one, " +
  "which is rebuilt from the log"

/** The clock of the database, in ms UTC; throws if it can't be read. */
export async function postgresTime(url: string, clock: Clock): Promise<number> {
  const client = createPostgresClient(url, clock)
  try {
    const [row] = await client.query<{ time: number }>(
      "SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS time",
    )
    if (!row) throw new Error("PostgreSQL returned no row")
    return row.time
  } finally {
    await client.close()
  }
}
