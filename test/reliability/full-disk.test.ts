// A really full disk: a file system in memory, with a large file in it.
import { execFileSync } from "node:child_process"
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { readSnapshot } from "../../src/store/index.ts"
import { supportedSchema } from "../../src/store/snapshot.ts"
import {
  freePort,
  type RunningServer,
  run,
  startLatchkey,
  temporaryFolder,
} from "../support/latchkey.ts"
import { type Client, call, sendWrite } from "../support/load.ts"
import { until } from "../support/wait.ts"
import { openServerFolder } from "./server-folder.ts"

const folder = temporaryFolder()
const disk = join(folder.path, "disk")
const ballast = join(disk, "ballast")

/** Only root can mount, as the check has. */
function mountDisk(): boolean {
  mkdirSync(disk)
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=160m", "tmpfs", disk], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}
const isMounted = mountDisk()
afterAll(() => {
  if (isMounted) execFileSync("umount", ["--lazy", disk])
  folder.remove()
})

/** Uses all free space except `left` bytes, to the last page. */
function fill(left = 0): void {
  const file = openSync(ballast, "a")
  const whole = Buffer.alloc(1024 * 1024)
  try {
    for (let size = whole.length; size >= 4096; ) {
      try {
        writeSync(file, whole, 0, size)
      } catch {
        size /= 2
      }
    }
  } finally {
    closeSync(file)
  }
  if (left > 0) execFileSync("truncate", ["--size", `${statSync(ballast).size - left}`, ballast])
}
const clear = () => rmSync(ballast, { force: true })
afterEach(clear)

describe.runIf(isMounted)("a full disk", () => {
  let house: Awaited<ReturnType<typeof openServerFolder>>
  let server: RunningServer
  let client: Client
  const made: string[] = []
  beforeAll(async () => {
    house = await openServerFolder(disk)
    server = await house.start()
    client = await house.client()
  })
  afterAll(() => server?.stop())

  const create = async (name: string) => {
    const reply = await sendWrite(client, { kind: "user", id: name, name })
    if (reply.status === 200) made.push(reply.body.id ?? reply.body.userId)
    return reply
  }
  const ready = async () => {
    const answer = await fetch(`${server.url}/debug/ready`)
    return [answer.status, await answer.text()] as const
  }
  const readyAgain = async () => {
    await until(async () => (await ready())[0] === 200, { limitMs: 60_000 })
  }
  const allThere = async () => {
    for (const userId of made) {
      expect((await call(client, "user.GetUserByID", { userId })).status).toBe(200)
    }
  }

  test("rejects writes plainly, loses none, serves reads, and recovers", async () => {
    expect((await create("before")).status).toBe(200)
    fill()
    // A write that fits in existing pages can still succeed.
    let refused = await create("full-0")
    for (let count = 1; refused.status === 200 && count < 2000; count++) {
      refused = await create(`full-${count}`)
    }
    expect([refused.status, refused.body.code]).toEqual([503, "unavailable"])
    expect(refused.body.message).toMatch(/disk is full/)
    expect(await ready()).toEqual([503, expect.stringContaining("disk is full")])
    await allThere()
    clear()
    await readyAgain()
    expect((await create("after")).status).toBe(200)
    await allThere()
    expect(server.output()).not.toMatch(/internal error/)
  })

  test("loses nothing when a server is killed on it: the next start has everything", async () => {
    fill()
    await Promise.all(Array.from({ length: 20 }, (_, n) => create(`killed-${n}`)))
    await server.stop("SIGKILL")
    clear()
    server = await house.start()
    await allThere()
    expect((await create("again")).status).toBe(200)
  })

  test("a start without free space reports it; the next one has everything", async () => {
    await server.stop("SIGKILL")
    fill()
    const port = Number(new URL(client.url).port)
    const args = ["--listen", `127.0.0.1:${port}`, "--grpc-listen", `127.0.0.1:${await freePort()}`]
    const tried = Bun.spawn(
      ["timeout", "5", join(import.meta.dirname, "../../dist/latchkey"), "serve"].concat(
        ["--data", house.data],
        args,
      ),
      { env: { PATH: process.env.PATH ?? "" }, stdout: "pipe", stderr: "pipe" },
    )
    const said =
      (await new Response(tried.stdout).text()) + (await new Response(tried.stderr).text())
    // It may have found the space that it needed, and then serves.
    if ((await tried.exited) === 1) expect(said).toMatch(/full/)
    expect(said).not.toMatch(/internal error/)
    clear()
    server = await house.start()
    await allThere()
  })

  test("missing space for a backup is reported, and leaves nothing behind", async () => {
    const to = join(disk, "saved")
    const saving = (...more: string[]) => run(["backup", to, "--data", house.data, ...more])
    fill()
    const before = await saving()
    expect([before.code, before.output]).toEqual([1, expect.stringContaining("MB of free space")])
    const middle = await saving("--work-folder", folder.path)
    expect([middle.code, middle.output]).toEqual([1, expect.stringContaining("the disk is full")])
    expect(readdirSync(disk).filter((name) => name.startsWith("saved"))).toEqual([])
    clear()
    expect(await saving("--work-folder", folder.path)).toMatchObject({ code: 0 })
    expect(await run(["restore", to, "--check"])).toMatchObject({ code: 0 })
  })

  test("missing space for a restore leaves nothing behind; with space it succeeds", async () => {
    const to = join(folder.path, "saved")
    const saving = ["backup", to, "--data", house.data, "--work-folder", folder.path]
    expect(await run([...saving, "--include-master-key"])).toMatchObject({ code: 0 })
    const data = join(disk, "restored")
    fill(64 * 1024)
    const refused = await run(["restore", to, "--data", data])
    expect([refused.code, refused.output]).toEqual([1, expect.stringContaining("disk is full")])
    expect(existsSync(data)).toBe(false)
    clear()
    expect(await run(["restore", to, "--data", data])).toMatchObject({ code: 0 })
  })

  test("an upgrade without space changes nothing, and succeeds with space", async () => {
    const data = join(disk, "earlier")
    mkdirSync(data)
    const archive = join(import.meta.dirname, "earlier", "schema-3.tar.gz")
    execFileSync("tar", ["-xzf", archive, "-C", data])
    const database = join(data, "latchkey.db")
    const before = readSnapshot(database)
    fill()
    const port = await freePort()
    const listen = [
      "--listen",
      `127.0.0.1:${port}`,
      "--grpc-listen",
      `127.0.0.1:${await freePort()}`,
    ]
    const { code, output } = await run(["serve", "--data", data, ...listen])
    expect([code, output]).toEqual([1, expect.stringMatching(/full|MB free/)])
    expect(output).not.toMatch(/internal error/)
    clear()
    expect(readSnapshot(database)).toEqual(before)
    const args = ["--public-url", `http://localhost:${port}`]
    const upgraded = await startLatchkey({ data, port, args })
    expect(await upgraded.stop()).toBe(0)
    expect(readSnapshot(database).schema).toBe(supportedSchema)
  })
})
