import type { Clock } from "../../kernel/clock.ts"
import { createPostgresClient, type PostgresClient, requireRow } from "../shared/postgres-client.ts"
import { upgradeStatements } from "../shared/postgres-log.ts"
import { oldestSchema, sharedSchema } from "../shared/postgres-schema.ts"
import { newerSchemaError } from "../shared/start/error.ts"

/** What the first node of this version changes in a log in PostgreSQL. */
export type PostgresUpgrade = {
  /** The schema versions of the database and of this program. */
  readonly schema: { readonly from: number; readonly to: number }
  /** The lowest version whose programs can run at the same time, or be started again. */
  readonly oldest: number
  /** The position of the newest event. */
  readonly position: number
  /** The database objects before and after, from an upgrade that was rolled back. */
  readonly objects: readonly ObjectCount[]
  /** The duration of that test run in ms, during which writes wait. 0 if there is nothing to do. */
  readonly ms: number
}

export type ObjectCount = {
  readonly kind: "tables" | "columns" | "indexes" | "functions"
  readonly before: number
  readonly after: number
  /** Those that only exist afterwards; for functions also those that change. */
  readonly changed: readonly string[]
}

/** Writers lock the log for milliseconds; the test run must not block them longer than this. */
const lockTimeoutMs = 2000

/**
 * Runs the upgrade in a transaction, inspects the result, and rolls it back. Throws if the log has
 * a newer version, can't be read, or is locked for too long.
 */
export async function inspectPostgresUpgrade(
  url: string,
  clock: Clock,
): Promise<PostgresUpgrade | undefined> {
  const client = createPostgresClient(url, clock)
  try {
    const log = await readLogRow(client)
    if (!log) return undefined
    const { schema: from, oldest, position } = log
    if (oldest > sharedSchema) throw newerSchemaError(oldest, sharedSchema)
    const about = { schema: { from, to: sharedSchema }, oldest: oldestSchema, position }
    if (from >= sharedSchema) return { ...about, objects: [], ms: 0 }
    return { ...about, ...(await tryUpgrade(client, clock)) }
  } finally {
    await client.close()
  }
}

async function tryUpgrade(client: PostgresClient, clock: Clock) {
  const before = await readObjects(client)
  const began = clock.now()
  try {
    const waits = ["lock_timeout", "statement_timeout"].map(
      (name) => `SET LOCAL ${name} = ${lockTimeoutMs};`,
    )
    await client.query(`BEGIN; ${waits.join(" ")} ${upgradeStatements}`)
    const after = await readObjects(client)
    return { objects: compareObjects(before, after), ms: clock.now() - began }
  } finally {
    await client.query("ROLLBACK")
  }
}

type LogRow = { readonly schema: number; readonly oldest: number; readonly position: number }

async function readLogRow(client: PostgresClient): Promise<LogRow | undefined> {
  const [table] = await client.query<{ there: boolean }>(
    "SELECT to_regclass('latchkey.log') IS NOT NULL AS there",
  )
  if (!requireRow(table).there) return undefined
  const [row] = await client.query<LogRow>(
    `SELECT schema, position::float8 AS position,
       coalesce((to_jsonb(l)->>'oldest')::integer, schema) AS oldest FROM latchkey.log l`,
  )
  return row
}

type ObjectRow = {
  readonly kind: ObjectCount["kind"]
  readonly name: string
  readonly text: string
}

const readObjects = (client: PostgresClient) =>
  client.query<ObjectRow>(
    `SELECT CASE c.relkind WHEN 'i' THEN 'indexes' ELSE 'tables' END AS kind,
       c.relname::text AS name, '' AS text FROM pg_class c
     WHERE c.relnamespace = 'latchkey'::regnamespace AND c.relkind IN ('r', 'i')
     UNION ALL
     SELECT 'columns', c.relname || '.' || a.attname, '' FROM pg_attribute a
     JOIN pg_class c ON c.oid = a.attrelid
     WHERE c.relnamespace = 'latchkey'::regnamespace AND c.relkind = 'r' AND a.attnum > 0
       AND NOT a.attisdropped
     UNION ALL
     SELECT 'functions', p.proname::text, md5(p.prosrc) FROM pg_proc p
     WHERE p.pronamespace = 'latchkey'::regnamespace`,
  )

const kinds = ["tables", "columns", "indexes", "functions"] as const

function compareObjects(before: readonly ObjectRow[], after: readonly ObjectRow[]): ObjectCount[] {
  const known = new Set(before.map(({ kind, name, text }) => `${kind} ${name} ${text}`))
  return kinds.map((kind) => {
    const now = after.filter((each) => each.kind === kind)
    const changed = now.filter(({ name, text }) => !known.has(`${kind} ${name} ${text}`))
    return {
      kind,
      before: before.filter((each) => each.kind === kind).length,
      after: now.length,
      changed: changed.map(({ name }) => name).sort(),
    }
  })
}
