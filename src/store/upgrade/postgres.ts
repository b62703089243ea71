import type { Clock } from "../../kernel/clock.ts"
import { type PostgresClient, postgresClient, requireRow } from "../shared/postgres-client.ts"
import { renewal } from "../shared/postgres-log.ts"
import { oldestSchema, sharedSchema } from "../shared/postgres-schema.ts"
import { newerError } from "../shared/start/error.ts"

/** What the first node of this version does to a log in PostgreSQL. */
export type PostgresUpgrade = {
  /** Versions of what lies there: that of the database, and ours. */
  readonly schema: { readonly from: number; readonly to: number }
  /** The lowest version whose programs can go on beside this one, or be started again. */
  readonly oldest: number
  /** Position of the newest event. */
  readonly position: number
  /** What was there, and what the upgrade makes of it, by a trial that was rolled back. */
  readonly objects: readonly ObjectCount[]
  /** How long the trial took, in ms: nobody can write meanwhile. 0 where there is nothing to do. */
  readonly ms: number
}

export type ObjectCount = {
  readonly kind: "tables" | "columns" | "indexes" | "functions"
  readonly before: number
  readonly after: number
  /** Those that are there only afterwards; of functions also those that are another. */
  readonly changed: readonly string[]
}

/** Whoever writes holds the log for milliseconds; nobody waits longer than this for a trial. */
const waitMs = 2000

/**
 * Makes the upgrade in a transaction, looks at what came of it, and rolls it back. Faults where the
 * log is of a newer version, can't be asked, or is held by somebody else for too long.
 */
export async function postgresUpgradeOf(
  url: string,
  clock: Clock,
): Promise<PostgresUpgrade | undefined> {
  const client = postgresClient(url, clock)
  try {
    const log = await logOf(client)
    if (!log) return undefined
    const { schema: from, oldest, position } = log
    if (oldest > sharedSchema) throw newerError(oldest, sharedSchema)
    const about = { schema: { from, to: sharedSchema }, oldest: oldestSchema, position }
    if (from >= sharedSchema) return { ...about, objects: [], ms: 0 }
    return { ...about, ...(await tried(client, clock)) }
  } finally {
    await client.close()
  }
}

async function tried(client: PostgresClient, clock: Clock) {
  const before = await objectsOf(client)
  const began = clock.now()
  try {
    const waits = ["lock_timeout", "statement_timeout"].map(
      (name) => `SET LOCAL ${name} = ${waitMs};`,
    )
    await client.ask(`BEGIN; ${waits.join(" ")} ${renewal}`)
    const after = await objectsOf(client)
    return { objects: compared(before, after), ms: clock.now() - began }
  } finally {
    await client.ask("ROLLBACK")
  }
}

type LogRow = { readonly schema: number; readonly oldest: number; readonly position: number }

async function logOf(client: PostgresClient): Promise<LogRow | undefined> {
  const [table] = await client.ask<{ there: boolean }>(
    "SELECT to_regclass('latchkey.log') IS NOT NULL AS there",
  )
  if (!requireRow(table).there) return undefined
  const [row] = await client.ask<LogRow>(
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

const objectsOf = (client: PostgresClient) =>
  client.ask<ObjectRow>(
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

function compared(before: readonly ObjectRow[], after: readonly ObjectRow[]): ObjectCount[] {
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
