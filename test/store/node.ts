// Test nodes: stores whose log is in PostgreSQL.
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest"
import { type Clock, delay, systemClock } from "../../src/kernel/clock.ts"
import type { Call } from "../../src/kernel/context.ts"
import type { OpenOptions } from "../../src/store/index.ts"
import { openNode } from "../../src/store/open.ts"
import { openPostgresLog } from "../../src/store/shared/postgres-log.ts"
import type { Store } from "../../src/store/store.ts"
import { type Postgres, startPostgres } from "../support/postgres.ts"
import { openTestEnvironment, type TestEnvironment } from "../support/test-environment.ts"
import { modules, temporaryFile } from "./account.ts"

type Parts = Partial<OpenOptions> & {
  readonly url: string
  readonly file: string
  readonly fingerprint?: string
  readonly folder?: string
  readonly lost?: (cause: unknown) => void
  readonly timeoutMs?: number
  /** The clock of the node's machine. */
  readonly clock?: Clock
}

const throwCause = (cause: unknown) => {
  throw cause
}

const newFingerprint = () => crypto.randomUUID()

/** Opens a file as that of a node. */
export const openTestNode = ({ clock = systemClock, ...parts }: Parts): Promise<Store> =>
  openNode(
    { ...modules, fatal: throwCause, notReady: (_, cause) => throwCause(cause), ...parts },
    {
      connect: (belonging) =>
        openPostgresLog({
          ...belonging,
          url: parts.url,
          ...(parts.folder !== undefined && { folder: parts.folder }),
          fingerprint: parts.fingerprint ?? "key",
          fresh: newFingerprint,
          clock,
          ...(parts.timeoutMs !== undefined && { timeoutMs: parts.timeoutMs }),
        }),
      fresh: newFingerprint,
      sleep: delay,
      now: () => performance.now(),
      clock,
      lost: parts.lost ?? (() => undefined),
      found: () => undefined,
    },
  )

/** Nodes for the tests of one file; each test has its own database. */
export function testNodes(input: Pick<OpenOptions, "aggregates" | "views">) {
  let postgres: Postgres
  let world: TestEnvironment
  let url: string
  const open: { store: Store; remove: () => void }[] = []
  beforeAll(() => {
    postgres = startPostgres()
  })
  afterAll(() => postgres.remove())
  beforeEach(async () => {
    world = openTestEnvironment(input)
    url = await postgres.database()
  })
  afterEach(async () => {
    for (const { store, remove } of open.splice(0)) {
      await store.close()
      remove()
    }
    await world.close()
  })
  return {
    postgres: () => postgres,
    world: () => world,
    url: () => url,
    /** A node with its own directory, or that of a closed one. */
    node: async (parts: Partial<Parts> = {}) => {
      const { file, remove } = temporaryFile()
      const store = await openTestNode({ ...input, file, url, ...parts })
      open.push({ store, remove })
      return store
    },
    leave: async (store: Store) => {
      const at = open.findIndex((each) => each.store === store)
      await store.close()
      return open.splice(at, 1)[0]?.remove ?? (() => undefined)
    },
    on: (store: Store, call: Partial<Call> = {}) => ({ ...world.cx(call), store }),
    asked: async <Row>(text: string): Promise<readonly Row[]> => {
      const sql = postgres.sql(url)
      const rows = await sql.unsafe(text)
      await sql.close()
      return [...rows]
    },
  }
}
