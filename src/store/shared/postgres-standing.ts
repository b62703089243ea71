import type { PostgresClient } from "./postgres-client.ts"
import type { Epochs, Me } from "./postgres-epoch.ts"
import type { Head, NodeStanding, SharedFailure, SharedLog, Use } from "./shared-log.ts"
import { shown, told } from "./wire.ts"

/** What nodes tell each other beside the log, and ask of it while somebody waits. */
export function standingOf(
  client: PostgresClient,
  me: Me,
  epochs: Epochs,
): Pick<SharedLog, "head" | "spendOnce" | "lease" | "nodes" | Failures> {
  return {
    head: async (): Promise<Head> => {
      const [row] = await client.ask<Omit<Head, "isSame"> & { epoch: number; line: boolean }>(
        `SELECT position::float8 AS position, number::float8 AS number, epoch,
           floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS time,
           timeline = latchkey.timeline_2() AS line
         FROM latchkey.log`,
      )
      const { epoch, line, ...head } = some(row)
      return { ...head, isSame: line && epoch === epochs.now() }
    },
    spendOnce: (uses, now) => spendOnce(client, uses, now),
    lease: async (name, ms) => {
      const [row] = await client.ask<{ has: boolean }>(
        "SELECT latchkey.lease_1($1::integer, $2, $3, $4::integer) AS has",
        [...me, name, ms],
      )
      return some(row).has
    },
    nodes: async ({ position }, lease) => {
      const [row] = await client.ask<{ nodes: NodeStanding[] }>(
        "SELECT latchkey.nodes_3($1::integer, $2, $3::bigint, $4) AS nodes",
        [...me, position, lease],
      )
      return some(row).nodes
    },
    ...failuresOf(client),
  }
}

/** The clocks of nodes differ by seconds; what counts no more on one may count on another. */
const slackMs = 60_000

async function spendOnce(client: PostgresClient, uses: readonly Use[], now: number) {
  const [row] = await client.ask<{ firsts: readonly string[] }>(
    "SELECT latchkey.use_3(($1::text)::json, $2::bigint) AS firsts",
    [JSON.stringify(uses), now - slackMs],
  )
  const firsts = new Set(some(row).firsts)
  // Of those of one batch that are the same one counts.
  return uses.map(({ what }) => firsts.delete(what))
}

type Failures = "failures" | "failed" | "unfailed" | "failedAgain"

function failuresOf(client: PostgresClient): Pick<SharedLog, Failures> {
  return {
    failures: async () => {
      const rows = await client.ask<SharedFailure>(
        `SELECT reactor, position::float8 AS position, instance, failures, error,
           last::float8 AS last FROM latchkey.failed_event`,
      )
      return rows.map((row) => ({ ...row, instance: told(row.instance), error: told(row.error) }))
    },
    failed: async ({ reactor, position, instance, error, last }) => {
      await client.ask(
        `INSERT INTO latchkey.failed_event AS f
           (reactor, position, instance, failures, error, last)
         VALUES ($1, $2::bigint, $3, 1, $4, $5::bigint)
         ON CONFLICT (reactor, position) DO UPDATE SET failures = f.failures + 1,
           error = excluded.error, last = excluded.last`,
        [reactor, position, shown(instance), shown(error), last],
      )
    },
    unfailed: async ({ reactor, position }) => {
      await client.ask(
        "DELETE FROM latchkey.failed_event WHERE reactor = $1 AND position = $2::bigint",
        [reactor, position],
      )
    },
    failedAgain: async ({ instance, reactor, position }) => {
      await client.ask(
        `UPDATE latchkey.failed_event SET last = 0 WHERE ($1::text IS NULL OR instance = $1)
           AND ($2::text IS NULL OR reactor = $2) AND ($3::bigint IS NULL OR position = $3)`,
        [instance === undefined ? null : shown(instance), reactor ?? null, position ?? null],
      )
    },
  }
}

function some<T>(found: T | undefined): T {
  if (found === undefined) throw new Error("PostgreSQL answered with no row")
  return found
}
