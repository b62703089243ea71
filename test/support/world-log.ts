// Where the log of a test's world is: in its own file, written here or by another process, or in
// PostgreSQL, of which the file is then that of the one node. The same tests hold for all.
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { SQL } from "bun"
import { type Clock, pause, systemClock } from "../../src/kernel/clock.ts"
import { type OpenOptions, openStore, type Store } from "../../src/store/index.ts"
import { openDatabase } from "../../src/store/log/database.ts"
import { storeOn } from "../../src/store/open.ts"
import { type Belonging, belong, belongingOf } from "../../src/store/shared/node.ts"
import { openPostgresLog } from "../../src/store/shared/postgres-log.ts"
import type { SharedLog } from "../../src/store/shared/shared-log.ts"
import { openBothStores } from "./beside.ts"
import { temporaryFolder } from "./latchkey.ts"

type Folder = ReturnType<typeof temporaryFolder>

export type WorldStore = {
  readonly store: Store
  /** Closes it, and drops its database. */
  readonly remove: () => Promise<void>
}

/** A cluster of PostgreSQL, as `postgres://…`; without it each world has its log in its file. */
const cluster = () => process.env.LATCHKEY_TEST_LOG

/** Opens the log of a folder at once; what is asked of PostgreSQL waits until it is there. */
export function openWorldStore(
  folder: Folder,
  options: Omit<OpenOptions, "file">,
  clock: Clock,
): WorldStore {
  const all = { ...options, file: join(folder.path, "latchkey.db") }
  const server = cluster()
  if (!server) {
    const store = process.env.LATCHKEY_TEST_WORKER ? openBothStores(all, clock) : openStore(all)
    return { store, remove: () => store.close() }
  }
  const opened = openDatabase(all.file, options.aggregates)
  const database = databaseIn(folder, server)
  const file = belongingOf(opened.database, options.aggregates, fresh)
  const shared = joinedLater(database.url, { file, made: database.made, clock })
  belong(opened.database, shared)
  const store = storeOn(opened, all, {
    shared,
    clock,
    sleep: pause,
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

/** Keeps what a closed world has; each call puts it into a folder of its own. */
export function keepWorld(folder: Folder): () => Folder {
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

const fresh = () => crypto.randomUUID()
const nameFile = (folder: Folder) => join(folder.path, "database")

/** The database of a folder: that which it has already, a copy of another, or a new one. */
function databaseIn(folder: Folder, server: string) {
  const isThere = existsSync(nameFile(folder))
  const name = isThere
    ? readFileSync(nameFile(folder), "utf8")
    : `world_${fresh().replaceAll("-", "")}`
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

type Joining = {
  readonly file: Belonging
  readonly made: Promise<void>
  readonly clock: Clock
}

/** The log of a database that is being made; the clock of the database is that of the world. */
function joinedLater(url: string, { file, made, clock }: Joining): SharedLog {
  const id = file.follows ?? fresh()
  const names = file.follows === undefined ? [id] : []
  const log = made.then(() =>
    openPostgresLog({
      ...file,
      url,
      fingerprint: "key",
      clock: systemClock,
      fresh: () => names.shift() ?? fresh(),
    }),
  )
  // Whoever asks it for something is told.
  log.catch(() => undefined)
  return {
    id,
    part: 0,
    idTime: 0,
    append: async (...given) => (await log).append(...given),
    read: async (...given) => (await log).read(...given),
    head: async (after) => ({ ...(await (await log).head(after)), time: clock.now() }),
    spendOnce: async (...given) => (await log).spendOnce(...given),
    blob: async (...given) => (await log).blob(...given),
    drop: async (...given) => (await log).drop(...given),
    dropClaims: async (...given) => (await log).dropClaims(...given),
    purge: async (...given) => (await log).purge(...given),
    trim: async (...given) => (await log).trim(...given),
    keys: async (...given) => (await log).keys(...given),
    reached: async (...given) => (await log).reached(...given),
    failures: async () => (await log).failures(),
    failed: async (...given) => (await log).failed(...given),
    unfailed: async (...given) => (await log).unfailed(...given),
    failedAgain: async (...given) => (await log).failedAgain(...given),
    nodes: async (...given) => (await log).nodes(...given),
    lease: async (...given) => (await log).lease(...given),
    listen: async (...given) => (await log).listen(...given),
    close: async () => (await log).close(),
  }
}
