// PostgreSQL on a really full disk: a file system in memory.
import { execFileSync } from "node:child_process"
import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  freePort,
  type RunningServer,
  setUp,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { type Client, call, sendWrite } from "../support/load.ts"
import { type Postgres, startPostgres } from "../support/postgres.ts"
import { needs } from "../support/prerequisite.ts"
import { openClient } from "./server-folder.ts"

const folder = temporaryFolder()
const disk = join(folder.path, "disk")

/** Only root can mount, as the check has. */
function mountDisk(): boolean {
  mkdirSync(disk)
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=150m", "tmpfs", disk], { stdio: "ignore" })
    // PostgreSQL runs as another user.
    for (const path of [folder.path, disk]) chmodSync(path, 0o755)
    return true
  } catch {
    return false
  }
}
const isMounted = needs("postgres") !== undefined && mountDisk()
afterAll(() => {
  if (isMounted) execFileSync("umount", ["--lazy", disk])
  folder.remove()
})

const ballast = join(disk, "ballast")

/** Uses all free space, to the last page. */
function fill(): void {
  const file = openSync(ballast, "a")
  const whole = Buffer.alloc(1024 * 1024)
  for (let size = whole.length; size >= 4096; ) {
    try {
      writeSync(file, whole, 0, size)
    } catch {
      size /= 2
    }
  }
  closeSync(file)
}

describe.runIf(isMounted)("PostgreSQL without free space", () => {
  let postgres: Postgres
  let node: RunningServer
  let client: Client
  let count = 0
  const acknowledged: string[] = []
  beforeAll(async () => {
    postgres = startPostgres({ max_wal_size: "32MB" }, disk)
    const data = join(folder.path, "node")
    const key = join(folder.path, "key")
    mkdirSync(data, { mode: 0o700 })
    writeFileSync(key, Buffer.alloc(32, 7).toString("base64"), { mode: 0o600 })
    const settings = `database = "${await postgres.database()}"\nmaster_key_file = "${key}"\n`
    writeFileSync(join(data, "latchkey.toml"), `${settings}limits = "off"\n`)
    const port = await freePort()
    const service = await setUp(data, `http://localhost:${port}`)
    node = await startLatchkey({ data, port })
    client = await openClient(node.url, service)
  })
  afterAll(async () => {
    await node.stop("SIGKILL")
    postgres.remove()
  })

  const write = async () => {
    const id = `p${count++}`
    const { status, body } = await sendWrite(client, { kind: "project", id, name: id })
    if (status === 200) acknowledged.push(id)
    return `${status} ${JSON.stringify(body)}`
  }
  const statusOf = async (path: string) => (await fetch(`${client.url}${path}`)).status

  test("rejects writes, serves reads, loses nothing and recovers with free space", async () => {
    for (let written = 0; written < 20; written++) expect(await write()).toMatch(/^200/)
    fill()
    await expect.poll(write, { timeout: 30_000 }).toMatch(/^503 .*store\.database_full/)
    const read = await call(client, "project.GetProject", { projectId: acknowledged[0] })
    expect(read.status).toBe(200)
    expect(await statusOf("/oauth/v2/keys")).toBe(200)
    expect(await statusOf("/debug/ready")).toBe(200)
    rmSync(ballast)
    await expect.poll(write, { timeout: 10_000 }).toMatch(/^200/)
    for (const projectId of acknowledged) {
      const { status } = await call(client, "project.GetProject", { projectId })
      expect([projectId, status]).toEqual([projectId, 200])
    }
  })
})
