import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { assertionOf, temporaryFolder } from "../support/latchkey.ts"
import { pause } from "../support/wait.ts"
import { audit } from "./audit.ts"
import {
  type Child,
  type ExitResult,
  isPlainError,
  launch,
  serveArgs,
  setupArgs,
} from "./bootstrap/process.ts"
import { completeCensus, interruptStart, takeCensus } from "./bootstrap/trial.ts"

let folder: ReturnType<typeof temporaryFolder>
let data: string
let children: Child[]
beforeEach(() => {
  folder = temporaryFolder()
  data = join(folder.path, "data")
  children = []
})
afterEach(async () => {
  await Promise.all(children.map((child) => child.kill()))
  folder.remove()
})

function launchAll(commands: readonly (readonly string[])[]): readonly Child[] {
  children = commands.map((args) => launch(args))
  return children
}

const repeat = <T>(count: number, of: T): readonly T[] => Array.from({ length: count }, () => of)

/** The results of those that exited; the others are ready. */
async function waitForAll(all: readonly Child[]) {
  const greetings = await Promise.all(all.map((child) => child.ready))
  const serving = all.filter((_, at) => greetings[at] !== undefined)
  const ended = await Promise.all(
    all.filter((child) => !serving.includes(child)).map((child) => child.ended),
  )
  return { serving, ended }
}

const rejectedStarts = (ends: readonly ExitResult[]) => ends.filter(isPlainError)

async function expectComplete(): Promise<void> {
  const file = join(data, "latchkey.db")
  expect(await takeCensus(file)).toEqual(completeCensus)
  expect(await audit(file)).toEqual([])
}

describe("twenty concurrent processes on one empty data directory (R-08)", () => {
  test("setup: one succeeds, the others report it and exit", async () => {
    const { ended } = await waitForAll(launchAll(repeat(20, setupArgs(folder.path, data))))
    expect(ended.filter(({ code }) => code === 0)).toHaveLength(1)
    expect(rejectedStarts(ended)).toHaveLength(19)
    await expectComplete()
  })

  test("serve: one succeeds, the others report it and exit", async () => {
    const { serving, ended } = await waitForAll(launchAll(repeat(20, serveArgs(data))))
    expect(serving).toHaveLength(1)
    expect(rejectedStarts(ended)).toHaveLength(19)
    expect(await launch(setupArgs(folder.path, data)).ended).toMatchObject({ code: 0 })
    expect((await serving[0]?.kill("SIGTERM"))?.code).toBe(0)
    await expectComplete()
  })

  test("setup and serve: at most one of each, and one instance in the end", async () => {
    const commands = repeat(10, [setupArgs(folder.path, data), serveArgs(data)]).flat()
    const { serving, ended } = await waitForAll(launchAll(commands))
    expect(serving.length).toBeLessThanOrEqual(1)
    const done = ended.filter(({ code }) => code === 0)
    expect(done.length).toBeLessThanOrEqual(1)
    expect(rejectedStarts(ended)).toHaveLength(20 - serving.length - done.length)
    const last = await launch(setupArgs(folder.path, data)).ended
    if (done.length === 1) expect(isPlainError(last)).toBe(true)
    else expect(last).toMatchObject({ code: 0 })
    for (const server of serving) await server.kill("SIGTERM")
    await expectComplete()
  })
})

describe("killed during its first start (R-08)", () => {
  test.each([
    ["serve", 30],
    ["serve", 60],
    ["serve", 90],
    ["serve", 120],
    ["serve", 200],
    ["setup", 60],
    ["setup", 100],
    ["setup", 140],
    ["setup", 180],
    ["setup", 260],
  ] as const)(
    "%s, after %i ms: the instance is absent or complete",
    async (description, afterMs) => {
      const { complaints } = await interruptStart(join(folder.path, "trial"), description, afterMs)
      expect(complaints).toEqual([])
    },
  )

  test.each([60, 120, 160, 200, 260])(
    "setup, after %i ms: its key is not lost",
    async (afterMs) => {
      const keyFile = join(folder.path, "key.json")
      const args = [...setupArgs(folder.path, data), "--service-key-file", keyFile]
      const killed = launch(args)
      await pause(afterMs, "the kill must come at any moment, which is what is tested")
      await killed.kill()
      const again = await launch(args).ended
      if (again.code !== 0)
        expect(again.error).toContain("key.json can't be created: it already exists")
      const [server] = launchAll([serveArgs(data)])
      const url = (await server?.ready) ?? ""
      const key = JSON.parse(readFileSync(keyFile, "utf8"))
      const assertion = await assertionOf("http://localhost:8080", key)
      const body = new URLSearchParams({ grant_type: jwtBearer, assertion, scope: "openid" })
      const headers = { host: "localhost:8080" }
      const answer = await fetch(`${url}/oauth/v2/token`, { method: "POST", body, headers })
      expect(answer.status).toBe(200)
      expect(existsSync(`${keyFile}.part`)).toBe(false)
    },
  )
})

const jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer"
