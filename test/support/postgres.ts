import { spawnSync } from "node:child_process"
import { chownSync, mkdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { SQL } from "bun"
import { temporaryFolder } from "./latchkey.ts"
import { needs } from "./prerequisite.ts"

/** A PostgreSQL of a test's own, on a socket in its own folder. */
export type Postgres = {
  /** Makes an empty database; answers what the setting `database` takes. */
  readonly database: () => Promise<string>
  /** What `latchkey` itself asks of one, over a connection of its own. */
  readonly sql: (url: string) => SQL
  readonly stop: (how?: "fast" | "immediate") => void
  readonly start: () => void
  readonly remove: () => void
}

/** It refuses to run as root. */
const nobody = 65_534

/** Makes a cluster and starts it; nothing of it is kept beyond the test, so it never syncs. */
export function startPostgres(settings: Readonly<Record<string, string>> = {}): Postgres {
  const initdb = needs("postgres")
  if (!initdb) throw new Error("no postgresql on this machine")
  const folder = temporaryFolder()
  const [socket, data] = [join(folder.path, "run"), join(folder.path, "data")]
  mkdirSync(socket)
  const logFile = join(folder.path, "log")
  const isRoot = process.getuid?.() === 0
  if (isRoot) for (const each of [folder.path, socket]) chownSync(each, nobody, nobody)
  const run = (program: string, ...rest: readonly string[]) => {
    const command = [join(dirname(initdb), program), "-D", data, ...rest]
    const prefix = ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"]
    const [name = "", ...given] = isRoot ? [...prefix, ...command] : command
    const { status, stdout, stderr } = spawnSync(name, given, {
      encoding: "utf8",
      cwd: folder.path,
    })
    if (status !== 0) throw new Error(`${program}: ${stdout}${stderr}`)
  }
  const all = { listen_addresses: "''", shared_buffers: "8MB", max_connections: "40", ...settings }
  const options = Object.entries(all).map(([name, value]) => `-c ${name}=${value}`)
  const said = ["-F", "-k", socket, ...options].join(" ")
  const start = () => run("pg_ctl", "-w", "-s", "-l", logFile, "-o", said, "start")
  const stop: Postgres["stop"] = (how = "immediate") => run("pg_ctl", "-w", "-s", "-m", how, "stop")
  run("initdb", "-U", "latchkey", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
  start()
  let count = 0
  const urlOf = (name: string) => `postgres://latchkey@localhost/${name}?host=${socket}`
  return {
    database: async () => {
      const name = `test${++count}`
      const sql = new SQL(urlOf("postgres"), { max: 1 })
      await sql.unsafe(`CREATE DATABASE ${name}`).catch((cause: unknown) => {
        throw new Error(`no database: ${readFileSync(logFile, "utf8")}`, { cause })
      })
      await sql.close()
      return urlOf(name)
    },
    sql: (url) => new SQL(url, { max: 1 }),
    stop,
    start,
    remove: () => {
      try {
        stop()
      } finally {
        folder.remove()
      }
    },
  }
}
