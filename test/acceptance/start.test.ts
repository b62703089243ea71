import { Database } from "bun:sqlite"
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { createServer, type Server } from "node:net"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { binary, freePort, setUp, startLatchkey, temporaryFolder } from "../support/latchkey.ts"
import { pause } from "../support/wait.ts"

let folder: ReturnType<typeof temporaryFolder>
let data: string
beforeEach(() => {
  folder = temporaryFolder()
  data = join(folder.path, "data")
})
afterEach(() => folder.remove())

/** Options of the child process; `program` if it is a copy of the binary. */
type ServeOptions = { readonly program?: string; readonly uid?: number; readonly gid?: number } & {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

type ExitResult = { readonly code: number | null; readonly out: string; readonly error: string }

/** Starts the server and waits for it to exit, for at most 10 seconds. */
async function serve(
  args: readonly string[] = [],
  { program = binary, ...options }: ServeOptions = {},
): Promise<ExitResult> {
  const ports = ["--listen", `127.0.0.1:${await freePort()}`, "--grpc-listen", "127.0.0.1:0"]
  const child = spawn(program, ["serve", "--data", data, ...ports, ...args], {
    env: {},
    timeout: 60_000,
    ...options,
  })
  let out = ""
  let error = ""
  child.stdout.on("data", (chunk) => (out += chunk))
  child.stderr.on("data", (chunk) => (error += chunk))
  return new Promise((done) => child.once("close", (code) => done({ code, out, error })))
}

/** Requires one plain line on standard error, a nonzero exit code, and no other output. */
function expectStartError({ code, out, error }: ExitResult, pattern: RegExp) {
  expect(code).toBe(1)
  expect(out).toBe("")
  expect(error).toMatch(/^latchkey: [^\n]+\n$/)
  expect(error).toMatch(pattern)
  expect(error).not.toMatch(/internal error|\bat \S+:\d+|SQLITE_|Error:/)
}

/** Every file with its content, except the lock files of the running process. */
function contents(path = data): Readonly<Record<string, string>> {
  const files = readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((file) => !/\/lock(\.pid)?$/.test(file))
  const hash = (file: string) => createHash("sha256").update(readFileSync(file)).digest("hex")
  return Object.fromEntries(files.sort().map((file) => [file, hash(file)]))
}

/** Waits until the background writes after a start are complete. */
async function waitForFirstWrites(): Promise<void> {
  let [before, same] = [JSON.stringify(contents()), 0]
  while (same < 6) {
    await pause(500, "what a server writes by itself once it has begun has no end that it signals")
    const now = JSON.stringify(contents())
    same = now === before ? same + 1 : 0
    before = now
  }
}

async function expectUnchanged(
  args: readonly string[],
  pattern: RegExp,
  options: ServeOptions = {},
) {
  const before = contents()
  expectStartError(await serve(args, options), pattern)
  expect(contents()).toEqual(before)
}

const url = "http://localhost:8080"

describe("the start is rejected, and nothing is modified, when", () => {
  test("the master key is missing", async () => {
    await setUp(data, url)
    rmSync(join(data, "master.key"))
    await expectUnchanged([], /master key is missing; restore .*master\.key,/)
  })

  test("the master key differs, in its file or in the environment", async () => {
    await setUp(data, url)
    const other = Buffer.alloc(32, 7).toString("base64")
    await expectUnchanged([], /another master key/, { env: { LATCHKEY_MASTER_KEY: other } })
    writeFileSync(join(data, "master.key"), `${other}\n`)
    await expectUnchanged([], /another master key/)
  })

  test("the master key is invalid", async () => {
    await setUp(data, url)
    writeFileSync(join(data, "master.key"), "hello\n")
    await expectUnchanged([], /does not contain a 32-byte key in base64/)
  })

  test("the fingerprint is missing along with the key, and a different key is given", async () => {
    await setUp(data, url)
    rmSync(join(data, "master.key.fingerprint"))
    writeFileSync(join(data, "master.key"), `${Buffer.alloc(32, 7).toString("base64")}\n`)
    expectStartError(await serve(), /key/)
  })

  test.each(["--listen", "--grpc-listen"])("the port of %s is taken", async (flag) => {
    await setUp(data, url)
    const taken = await listenOnFreePort()
    const address = taken.address()
    const port = typeof address === "object" && address ? address.port : 0
    const before = rowsOf(join(data, "latchkey.db"))
    try {
      expectStartError(await serve([flag, `127.0.0.1:${port}`]), new RegExp(`${port}.*${flag}`))
      expect(rowsOf(join(data, "latchkey.db"))).toEqual(before)
      expect(readdirSync(data).filter((file) => /pid|sock|link/.test(file))).toEqual([])
    } finally {
      taken.close()
    }
    const server = await startLatchkey({ data, port: await freePort() })
    await server.stop()
  })

  test("another process uses the data directory", async () => {
    const server = await startLatchkey({ data, port: await freePort() })
    try {
      await waitForFirstWrites()
      await expectUnchanged([], new RegExp(`in use by another .*pid ${server.process.pid}`))
      expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
    } finally {
      await server.stop()
    }
  })

  test("the data directory isn't writable", async () => {
    mkdirSync(data)
    const isRoot = process.getuid?.() === 0
    chmodSync(folder.path, 0o755)
    if (isRoot) chownSync(data, 0, 0)
    chmodSync(data, isRoot ? 0o755 : 0o555)
    // A copy, because other users may have no access to the checkout.
    const program = join(folder.path, "latchkey")
    copyFileSync(binary, program)
    chmodSync(program, 0o755)
    const options = isRoot ? { program, uid: 65_534, gid: 65_534, cwd: "/" } : {}
    await expectUnchanged(
      [],
      /data directory .* can't be used: permission denied; choose another/,
      options,
    )
    expect(statSync(data).mode & 0o777).toBe(isRoot ? 0o755 : 0o555)
  })

  test("the data directory is a file", async () => {
    writeFileSync(data, "not a folder")
    expectStartError(await serve(), /it is not a directory/)
    expect(readFileSync(data, "utf8")).toBe("not a folder")
  })

  test("the database is newer than the program", async () => {
    await setUp(data, url)
    changeDatabase("PRAGMA user_version = 4711")
    await expectUnchanged([], /written by a newer version of Latchkey \(schema 4711/)
  })

  test("the database belongs to another program", async () => {
    await setUp(data, url)
    changeDatabase("PRAGMA application_id = 4711")
    await expectUnchanged([], /database/)
  })

  test("the database is damaged: garbage, without its header, or truncated", async () => {
    await setUp(data, url)
    const file = join(data, "latchkey.db")
    const whole = readFileSync(file)
    const head = Buffer.from(whole)
    head.fill(0, 0, 100)
    const half = whole.subarray(0, whole.length / 2)
    for (const bytes of [Buffer.from("garbage ".repeat(4096)), head, half]) {
      writeFileSync(file, bytes)
      await expectUnchanged([], /damaged|not a database|no database|not one of/)
    }
    writeFileSync(file, whole)
    const server = await startLatchkey({ data, port: await freePort() })
    await server.stop()
  })

  test("a setting is unknown, and the nearest known one is suggested", async () => {
    const { code, error } = await serve(["--lisen", "127.0.0.1:1"])
    expect(code).toBe(2)
    expect(error).toMatch(/^latchkey: [^\n]*--listen[^\n]*\n$/)
  })
})

/** Every row of a database; its bytes differ, because SQLite counts openings in its header. */
function rowsOf(file: string): Readonly<Record<string, unknown>> {
  const database = new Database(file, { readonly: true })
  const tables = "SELECT name FROM sqlite_master WHERE type = 'table'"
  const names = database.query<{ name: string }, []>(tables).all()
  const rows = names.map(({ name }) => [name, database.query(`SELECT * FROM "${name}"`).all()])
  database.close()
  return Object.fromEntries(rows)
}

function listenOnFreePort(): Promise<Server> {
  const server = createServer()
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done(server)))
}

function changeDatabase(sql: string): void {
  const database = new Database(join(data, "latchkey.db"))
  database.run(sql)
  database.run("PRAGMA wal_checkpoint(TRUNCATE)")
  database.close()
}
