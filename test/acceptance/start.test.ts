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
import { binary, freePort, setUp, start, temporaryFolder } from "../support/latchkey.ts"
import { pause } from "../support/wait.ts"

let folder: ReturnType<typeof temporaryFolder>
let data: string
beforeEach(() => {
  folder = temporaryFolder()
  data = join(folder.path, "data")
})
afterEach(() => folder.remove())

/** Of the child process; `program` where it is a copy of the binary. */
type Options = { readonly program?: string; readonly uid?: number; readonly gid?: number } & {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

type End = { readonly code: number | null; readonly out: string; readonly error: string }

/** Starts the service and waits for its end; gives it ten seconds to refuse. */
async function serve(
  args: readonly string[] = [],
  { program = binary, ...options }: Options = {},
): Promise<End> {
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

/** One plain line on standard error, a code that is not 0, and nothing else. */
function expectRefusal({ code, out, error }: End, about: RegExp) {
  expect(code).toBe(1)
  expect(out).toBe("")
  expect(error).toMatch(/^latchkey: [^\n]+\n$/)
  expect(error).toMatch(about)
  expect(error).not.toMatch(/bug|\bat \S+:\d+|SQLITE_|Error:/)
}

/** Every file with its content, but for those that say who is here now. */
function contents(path = data): Readonly<Record<string, string>> {
  const files = readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((file) => !/\/lock(\.pid)?$/.test(file))
  const hash = (file: string) => createHash("sha256").update(readFileSync(file)).digest("hex")
  return Object.fromEntries(files.sort().map((file) => [file, hash(file)]))
}

/** Waits until a server that has begun has written what it writes by itself. */
async function settled(): Promise<void> {
  let [before, same] = [JSON.stringify(contents()), 0]
  while (same < 6) {
    await pause(500, "what a server writes by itself once it has begun has no end that it signals")
    const now = JSON.stringify(contents())
    same = now === before ? same + 1 : 0
    before = now
  }
}

async function refusesUntouched(args: readonly string[], about: RegExp, options: Options = {}) {
  const before = contents()
  expectRefusal(await serve(args, options), about)
  expect(contents()).toEqual(before)
}

const url = "http://localhost:8080"

describe("the start is refused, with nothing touched, when", () => {
  test("the master key is missing", async () => {
    await setUp(data, url)
    rmSync(join(data, "master.key"))
    await refusesUntouched([], /master key is not there; put .*master\.key back/)
  })

  test("the master key is another one, in its file or in the environment", async () => {
    await setUp(data, url)
    const other = Buffer.alloc(32, 7).toString("base64")
    await refusesUntouched([], /another master key/, { env: { LATCHKEY_MASTER_KEY: other } })
    writeFileSync(join(data, "master.key"), `${other}\n`)
    await refusesUntouched([], /another master key/)
  })

  test("the master key is no key", async () => {
    await setUp(data, url)
    writeFileSync(join(data, "master.key"), "hello\n")
    await refusesUntouched([], /does not hold a key/)
  })

  test("the fingerprint went with the key, and another key is there", async () => {
    await setUp(data, url)
    rmSync(join(data, "master.key.fingerprint"))
    writeFileSync(join(data, "master.key"), `${Buffer.alloc(32, 7).toString("base64")}\n`)
    expectRefusal(await serve(), /key/)
  })

  test.each(["--listen", "--grpc-listen"])("the port of %s is taken", async (flag) => {
    await setUp(data, url)
    const taken = await listening()
    const address = taken.address()
    const port = typeof address === "object" && address ? address.port : 0
    const before = rowsOf(join(data, "latchkey.db"))
    try {
      expectRefusal(await serve([flag, `127.0.0.1:${port}`]), new RegExp(`${port}.*${flag}`))
      expect(rowsOf(join(data, "latchkey.db"))).toEqual(before)
      expect(readdirSync(data).filter((file) => /pid|sock|link/.test(file))).toEqual([])
    } finally {
      taken.close()
    }
    const server = await start({ data, port: await freePort() })
    await server.stop()
  })

  test("another process owns the folder", async () => {
    const server = await start({ data, port: await freePort() })
    try {
      await settled()
      await refusesUntouched([], new RegExp(`in use by another .*pid ${server.process.pid}`))
      expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
    } finally {
      await server.stop()
    }
  })

  test("the folder can't be written to", async () => {
    mkdirSync(data)
    const isRoot = process.getuid?.() === 0
    chmodSync(folder.path, 0o755)
    if (isRoot) chownSync(data, 0, 0)
    chmodSync(data, isRoot ? 0o755 : 0o555)
    // A copy: the checkout may lie where nobody else may look.
    const program = join(folder.path, "latchkey")
    copyFileSync(binary, program)
    chmodSync(program, 0o755)
    const options = isRoot ? { program, uid: 65_534, gid: 65_534, cwd: "/" } : {}
    await refusesUntouched([], /data folder .* can't be used: this user may not write/, options)
    expect(statSync(data).mode & 0o777).toBe(isRoot ? 0o755 : 0o555)
  })

  test("the folder is a file", async () => {
    writeFileSync(data, "not a folder")
    expectRefusal(await serve(), /not a folder/)
    expect(readFileSync(data, "utf8")).toBe("not a folder")
  })

  test("the database is newer than the program", async () => {
    await setUp(data, url)
    changeDatabase("PRAGMA user_version = 4711")
    await refusesUntouched([], /written by a newer Latchkey \(schema 4711/)
  })

  test("the database is another program's", async () => {
    await setUp(data, url)
    changeDatabase("PRAGMA application_id = 4711")
    await refusesUntouched([], /database/)
  })

  test("the database is damaged: garbage, without its head, or cut off", async () => {
    await setUp(data, url)
    const file = join(data, "latchkey.db")
    const whole = readFileSync(file)
    const head = Buffer.from(whole)
    head.fill(0, 0, 100)
    const half = whole.subarray(0, whole.length / 2)
    for (const bytes of [Buffer.from("garbage ".repeat(4096)), head, half]) {
      writeFileSync(file, bytes)
      await refusesUntouched([], /damaged|not a database|no database|not one of/)
    }
    writeFileSync(file, whole)
    const server = await start({ data, port: await freePort() })
    await server.stop()
  })

  test("a setting is unknown, and it names the nearest that is known", async () => {
    const { code, error } = await serve(["--lisen", "127.0.0.1:1"])
    expect(code).toBe(2)
    expect(error).toMatch(/^latchkey: [^\n]*--listen[^\n]*\n$/)
  })
})

/** Every row of a database; SQLite counts openings in its head, so bytes say too much. */
function rowsOf(file: string): Readonly<Record<string, unknown>> {
  const database = new Database(file, { readonly: true })
  const tables = "SELECT name FROM sqlite_master WHERE type = 'table'"
  const names = database.query<{ name: string }, []>(tables).all()
  const rows = names.map(({ name }) => [name, database.query(`SELECT * FROM "${name}"`).all()])
  database.close()
  return Object.fromEntries(rows)
}

function listening(): Promise<Server> {
  const server = createServer()
  return new Promise((done) => server.listen(0, "127.0.0.1", () => done(server)))
}

function changeDatabase(sql: string): void {
  const database = new Database(join(data, "latchkey.db"))
  database.run(sql)
  database.run("PRAGMA wal_checkpoint(TRUNCATE)")
  database.close()
}
