import { startPostgres } from "./postgres.ts"
import { needs } from "./prerequisite.ts"

/** One PostgreSQL for all worlds of a run, each of which has a database of its own. */
export async function setup(): Promise<(() => void) | undefined> {
  if (!needs("postgres")) return undefined
  const postgres = startPostgres({ max_connections: "300" })
  process.env.LATCHKEY_TEST_LOG = postgres.cluster
  return () => postgres.remove()
}
