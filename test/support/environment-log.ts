// The log of a test environment: in its own file, written here or by another process, or in
// PostgreSQL, with a file for its only node. The same tests apply to all.
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { SQL } from "bun"
import { type Clock, delay, systemClock } from "../../src/kernel/clock.ts"
import { type OpenOptions, openStore, type Store } from "../../src/store/index.ts"
import { openDatabase } from "../../src/store/log/database.ts"
import { createStore } from "../../src/store/open.ts"
import { type LogMembership, readMembership, setMembership } from "../../src/store/shared/node.ts"
import { openPostgresLog } from "../../src/store/shared/postgres-log.ts"
import type { SharedLog } from "../../src/store/shared/shared-log.ts"
import { temporaryFolder } from "./latchkey.ts"
import { openBothStores } from "./worker-store.ts"

type Folder = ReturnType<typeof temporaryFolder>

export type EnvironmentStore = {
  readonly store: Store
  /** Closes it, and drops its database. */
  readonly remove: () => Promise<void>
}

/** A PostgreSQL cluster, as `postgres://…`; without it each environment has its log in its file. */
const cluster = () => process.env.LATCHKEY_TEST_LOG

/** Opens the log of a directory immediately; requests to PostgreSQL wait until it is ready. */
export function openEnvironmentStore(
  folder: Folder,
  options: Omit<OpenOptions, "file">,
  clock: Clock,
): EnvironmentStore {
  const all = { ...options, file: join(folder.path, "latchkey.db") }
  const server = cluster()
  if (!server) {
    const store = process.env.LATCHKEY_TEST_WORKER ? openBothStores(all, clock) : openStore(all)
    return { store, remove: () => store.close() }
  }
  const opened = openDatabase(all.file, options.aggregates)
  const database = databaseIn(folder, server)
  const file = readMembership(opened.database, options.aggregates, newName)
  const shared = joinLater(database.url, { file, made: database.made, clock })
  setMembership(opened.database, shared)
  const store = createStore(opened, all, {
    shared,
    clock,
    sleep: delay,
    now: () => performance.now(),
    lost: () => undefined,
    found: () => undefined,
  })
  const remove = async () => {
    await store.close()
    await onCluster(server, `DROP DATABASE ${database.name} WITH (FORCE)`)
  }
  return { store, remove }
}

/** Copies a closed environment; each call puts it into a new directory. */
export function snapshotEnvironment(folder: Folder): () => Folder {
  const bytes = readFileSync(join(folder.path, "latchkey.db"))
  const server = cluster()
  const template = server && readFileSync(nameFile(folder), "utf8")
  folder.remove()
  return () => {
    const copy = temporaryFolder()
    writeFileSync(join(copy.path, "latchkey.db"), bytes)
    if (template) writeFileSync(join(copy.path, "template"), template)
    return copy
  }
}

const newName = () => crypto.randomUUID()
const nameFile = (folder: Folder) => join(folder.path, "database")

/** The database of a directory: an existing one, a copy of another, or a new one. */
function databaseIn(folder: Folder, server: string) {
  const isThere = existsSync(nameFile(folder))
  const name = isThere
    ? readFileSync(nameFile(folder), "utf8")
    : `world_${newName().replaceAll("-", "")}`
  const url = server.replace("/postgres?", `/${name}?`)
  if (isThere) return { name, url, made: Promise.resolve() }
  const template = join(folder.path, "template")
  const of = existsSync(template) ? ` TEMPLATE ${readFileSync(template, "utf8")}` : ""
  writeFileSync(nameFile(folder), name)
  return { name, url, made: onCluster(server, `CREATE DATABASE ${name}${of}`) }
}

async function onCluster(server: string, statement: string): Promise<void> {
  const sql = new SQL(server, { max: 1 })
  try {
    await sql.unsafe(statement)
  } finally {
    await sql.close()
  }
}

type JoinOptions = {
  readonly file: LogMembership
  readonly made: Promise<void>
  readonly clock: Clock
}

/** The log of a database that is being created; the database uses the environment's clock. */
function joinLater(url: string, { file, made, clock }: JoinOptions): SharedLog {
  const id = file.follows ?? newName()
  const names = file.follows === undefined ? [id] : []
  const log = made.then(() =>
    openPostgresLog({
      ...file,
      url,
      fingerprint: "key",
      clock: systemClock,
      fresh: () => names.shift() ?? newName(),
    }),
  )
  // Callers get the error themselves.
  log.catch(() => undefined)
  return {
    id,
    part: 0,
    idTime: 0,
    append: async (...input) => (await log).append(...input),
    read: async (...input) => (await log).read(...input),
    head: async (after) => ({ ...(await (await log).head(after)), time: clock.now() }),
    spendOnce: async (...input) => (await log).spendOnce(...input),
    blob: async (...input) => (await log).blob(...input),
    drop: async (...input) => (await log).drop(...input),
    dropClaims: async (...input) => (await log).dropClaims(...input),
    purge: async (...input) => (await log).purge(...input),
    trim: async (...input) => (await log).trim(...input),
    keys: async (...input) => (await log).keys(...input),
    reached: async (...input) => (await log).reached(...input),
    failures: async () => (await log).failures(),
    failed: async (...input) => (await log).failed(...input),
    unfailed: async (...input) => (await log).unfailed(...input),
    failedAgain: async (...input) => (await log).failedAgain(...input),
    nodes: async (...input) => (await log).nodes(...input),
    lease: async (...input) => (await log).lease(...input),
    listen: async (...input) => (await log).listen(...input),
    close: async () => (await log).close(),
  }
}
