import { startPostgres } from "./postgres.ts"
import { needs } from "./prerequisite.ts"

/** Starts one PostgreSQL for all test environments of a run, each with its own database. */
export async function setup(): Promise<(() => void) | undefined> {
  if (!needs("postgres")) return undefined
  const postgres = startPostgres({ max_connections: "300" })
  process.env.LATCHKEY_TEST_LOG = postgres.cluster
  return () => postgres.remove()
}
