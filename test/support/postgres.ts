import { spawnSync } from "node:child_process"
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { SQL } from "bun"
import { temporaryFolder } from "./latchkey.ts"
import { needs } from "./prerequisite.ts"

/** A PostgreSQL of a test's own, on a socket in its own folder. */
export type Postgres = {
  /** Where databases are made, as `postgres://…`. */
  readonly cluster: string
  /** The socket that it listens on. */
  readonly socket: string
  /** Makes an empty database; answers what the setting `database` takes. */
  readonly database: () => Promise<string>
  /** What `latchkey` itself asks of one, over a connection of its own. */
  readonly sql: (url: string) => SQL
  readonly stop: (how?: "fast" | "immediate") => void
  readonly start: () => void
  /** Freezes all of its processes, until the result is called. */
  readonly freeze: () => () => void
  /** Another server that has all that this one has, and gets what comes (streaming replication). */
  readonly replica: () => Postgres
  /** Dumps the schema of Latchkey; the result puts it back over whatever is there by then. */
  readonly dump: (url: string) => () => void
  /** Copies the files of the stopped server; the result puts them back. */
  readonly copyFiles: () => () => void
  /** Makes a replica the primary. */
  readonly promote: () => void
  readonly remove: () => void
}

/** Commands wait for locks, and for servers to start; it ends those that would wait forever. */
const commandLimitMs = 60_000

/** It refuses to run as root. */
const nobody = 65_534

/** Gives a copied folder to the user that PostgreSQL runs as. */
function owned(folder: string): void {
  chmodSync(folder, 0o700)
  if (process.getuid?.() !== 0) return
  for (const name of ["", ...readdirSync(folder, { recursive: true, encoding: "utf8" })]) {
    chownSync(join(folder, name), nobody, nobody)
  }
}

/** Makes a cluster and starts it; nothing of it is kept beyond the test, so it never syncs. */
export function startPostgres(
  settings: Readonly<Record<string, string>> = {},
  parent?: string,
): Postgres {
  const place = placeOf(parent)
  const names = ["-U", "latchkey", "-A", "trust", "-E", "UTF8", "--locale=C"]
  place.run("initdb", "-D", place.data, "--no-sync", ...names)
  return serverIn(place, settings)
}

/** Tells a process of PostgreSQL, unless it has ended by then. */
function signalled(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (cause) {
    if (!(cause instanceof Error && "code" in cause && cause.code === "ESRCH")) throw cause
  }
}

type Place = {
  readonly data: string
  readonly run: (program: string, ...rest: readonly string[]) => void
  readonly folder: ReturnType<typeof temporaryFolder>
}

function placeOf(parent?: string): Place {
  const initdb = needs("postgres")
  if (!initdb) throw new Error("no postgresql on this machine")
  const folder = temporaryFolder(parent)
  mkdirSync(join(folder.path, "run"))
  const isRoot = process.getuid?.() === 0
  if (isRoot) {
    for (const each of [folder.path, join(folder.path, "run")]) chownSync(each, nobody, nobody)
  }
  const run: Place["run"] = (program, ...rest) => {
    const command = [join(dirname(realpathSync(initdb)), program), ...rest]
    const prefix = ["setpriv", `--reuid=${nobody}`, `--regid=${nobody}`, "--clear-groups"]
    const [name = "", ...given] = isRoot ? [...prefix, ...command] : command
    const { status, signal, stdout, stderr } = spawnSync(name, given, {
      encoding: "utf8",
      cwd: folder.path,
      timeout: commandLimitMs,
    })
    if (status === 0) return
    const ended = signal ? ` ended by ${signal} after at most ${commandLimitMs} ms` : ""
    throw new Error(`${command.join(" ")}${ended}: ${stdout}${stderr}`)
  }
  return { data: join(folder.path, "data"), run, folder }
}

function serverIn(place: Place, settings: Readonly<Record<string, string>>): Postgres {
  const { data, folder } = place
  const run = join(folder.path, "run")
  const logFile = join(folder.path, "log")
  const all = { listen_addresses: "''", shared_buffers: "8MB", max_connections: "40", ...settings }
  const options = Object.entries(all).map(([name, value]) => `-c ${name}=${value}`)
  const said = ["-F", "-k", run, ...options].join(" ")
  const control = (...rest: readonly string[]) =>
    place.run("pg_ctl", "-D", data, "-w", "-s", ...rest)
  let isUp = false
  const start = () => {
    control("-l", logFile, "-o", said, "start")
    isUp = true
  }
  const stop: Postgres["stop"] = (how = "immediate") => {
    control("-m", how, "stop")
    isUp = false
  }
  start()
  let count = 0
  const urlOf = (name: string) => `postgres://latchkey@localhost/${name}?host=${run}`
  return {
    cluster: urlOf("postgres"),
    socket: join(run, ".s.PGSQL.5432"),
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
    freeze: () => {
      const pid = Number.parseInt(readFileSync(join(data, "postmaster.pid"), "utf8"), 10)
      signalled(pid, "SIGSTOP")
      // It starts no others now.
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")
      const all = [pid, ...children.map(Number)]
      for (const each of all) signalled(each, "SIGSTOP")
      return () => {
        for (const each of all) signalled(each, "SIGCONT")
      }
    },
    replica: () => {
      const its = placeOf()
      const copy = ["--checkpoint=fast", "--no-sync", "-X", "stream", "-R"]
      its.run("pg_basebackup", "-h", run, "-U", "latchkey", "-D", its.data, ...copy)
      return serverIn(its, settings)
    },
    dump: (url) => {
      const name = new URL(url).pathname.slice(1)
      const file = join(folder.path, `dump-${crypto.randomUUID()}`)
      const there = ["-h", run, "-U", "latchkey"]
      place.run("pg_dump", ...there, "-n", "latchkey", "-f", file, name)
      return () => {
        // Of two that wait for each other, a node is refused: it tries again, and psql does not.
        const quiet = "SET client_min_messages = error; SET deadlock_timeout = '50s'"
        const drop = ["-c", `${quiet}; DROP SCHEMA latchkey CASCADE`]
        const stop = ["-q", "-v", "ON_ERROR_STOP=1", "-1"]
        place.run("psql", ...there, ...stop, ...drop, "-f", file, name)
      }
    },
    copyFiles: () => {
      stop("fast")
      const copy = `${data}-${crypto.randomUUID()}`
      cpSync(data, copy, { recursive: true })
      owned(copy)
      start()
      return () => {
        stop("fast")
        rmSync(data, { recursive: true })
        renameSync(copy, data)
        start()
      }
    },
    promote: () => control("promote"),
    remove: () => {
      try {
        if (isUp) stop()
      } finally {
        folder.remove()
      }
    },
  }
}
