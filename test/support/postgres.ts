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

/** A PostgreSQL cluster for one test, on a socket in its own directory. */
export type Postgres = {
  /** The URL for creating databases, as `postgres://…`. */
  readonly cluster: string
  /** The socket that it listens on. */
  readonly socket: string
  /** Creates an empty database; returns the value for the setting `database`. */
  readonly database: () => Promise<string>
  /** A client like that of `latchkey`, on its own connection. */
  readonly sql: (url: string) => SQL
  readonly stop: (mode?: "fast" | "immediate") => void
  readonly start: () => void
  /** Suspends all of its processes, until the result is called. */
  readonly freeze: () => () => void
  /** A streaming replica of this server. */
  readonly replica: () => Postgres
  /** Dumps the schema of Latchkey; the result restores it over the current content. */
  readonly dump: (url: string) => () => void
  /** Copies the files of the stopped server; the result restores them. */
  readonly copyFiles: () => () => void
  /** Promotes a replica to primary. */
  readonly promote: () => void
  readonly remove: () => void
}

/** Commands wait for locks and server starts; this limit ends those that would wait forever. */
const commandLimitMs = 60_000

/** PostgreSQL does not run as root. */
const nobody = 65_534

/** Changes the owner of a copied directory to the user that PostgreSQL runs as. */
function changeOwner(folder: string): void {
  chmodSync(folder, 0o700)
  if (process.getuid?.() !== 0) return
  for (const name of ["", ...readdirSync(folder, { recursive: true, encoding: "utf8" })]) {
    chownSync(join(folder, name), nobody, nobody)
  }
}

/** Creates a cluster and starts it; nothing is needed after the test, so fsync is off. */
export function startPostgres(
  settings: Readonly<Record<string, string>> = {},
  parent?: string,
): Postgres {
  const files = createClusterFiles(parent)
  const names = ["-U", "latchkey", "-A", "trust", "-E", "UTF8", "--locale=C"]
  files.run("initdb", "-D", files.data, "--no-sync", ...names)
  return createServer(files, settings)
}

/** Signals a process of PostgreSQL, unless it has exited. */
function signalProcess(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch (cause) {
    if (!(cause instanceof Error && "code" in cause && cause.code === "ESRCH")) throw cause
  }
}

type ClusterFiles = {
  readonly data: string
  readonly run: (program: string, ...rest: readonly string[]) => void
  readonly folder: ReturnType<typeof temporaryFolder>
}

function createClusterFiles(parent?: string): ClusterFiles {
  const initdb = needs("postgres")
  if (!initdb) throw new Error("no postgresql on this machine")
  const folder = temporaryFolder(parent)
  mkdirSync(join(folder.path, "run"))
  const isRoot = process.getuid?.() === 0
  if (isRoot) {
    for (const each of [folder.path, join(folder.path, "run")]) chownSync(each, nobody, nobody)
  }
  const run: ClusterFiles["run"] = (program, ...rest) => {
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

function createServer(files: ClusterFiles, settings: Readonly<Record<string, string>>): Postgres {
  const { data, folder } = files
  const run = join(folder.path, "run")
  const logFile = join(folder.path, "log")
  const all = { listen_addresses: "''", shared_buffers: "8MB", max_connections: "40", ...settings }
  const options = Object.entries(all).map(([name, value]) => `-c ${name}=${value}`)
  const output = ["-F", "-k", run, ...options].join(" ")
  const control = (...rest: readonly string[]) =>
    files.run("pg_ctl", "-D", data, "-w", "-s", ...rest)
  let isUp = false
  const start = () => {
    control("-l", logFile, "-o", output, "start")
    isUp = true
  }
  const stop: Postgres["stop"] = (mode = "immediate") => {
    control("-m", mode, "stop")
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
      signalProcess(pid, "SIGSTOP")
      // Now it starts no others.
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ")
      const all = [pid, ...children.map(Number)]
      for (const each of all) signalProcess(each, "SIGSTOP")
      return () => {
        for (const each of all) signalProcess(each, "SIGCONT")
      }
    },
    replica: () => {
      const its = createClusterFiles()
      const copy = ["--checkpoint=fast", "--no-sync", "-X", "stream", "-R"]
      its.run("pg_basebackup", "-h", run, "-U", "latchkey", "-D", its.data, ...copy)
      return createServer(its, settings)
    },
    dump: (url) => {
      const name = new URL(url).pathname.slice(1)
      const file = join(folder.path, `dump-${crypto.randomUUID()}`)
      const exists = ["-h", run, "-U", "latchkey"]
      files.run("pg_dump", ...exists, "-n", "latchkey", "-f", file, name)
      return () => {
        // In a deadlock one side is canceled: nodes retry, and psql does not.
        const quiet = "SET client_min_messages = error; SET deadlock_timeout = '50s'"
        const drop = ["-c", `${quiet}; DROP SCHEMA latchkey CASCADE`]
        const stop = ["-q", "-v", "ON_ERROR_STOP=1", "-1"]
        files.run("psql", ...exists, ...stop, ...drop, "-f", file, name)
      }
    },
    copyFiles: () => {
      stop("fast")
      const copy = `${data}-${crypto.randomUUID()}`
      cpSync(data, copy, { recursive: true })
      changeOwner(copy)
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
