import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { readIn, writeOut } from "../../../src/boot/transfer/file.ts"
import type { Carrier } from "../../../src/boot/transfer/part.ts"
import { linesOf } from "../../../src/domain/transfer/api.ts"
import { carrierOf } from "../../../src/server/operator/transfer.ts"
import { type Estate, openEstate } from "../../support/estate.ts"
import { everything, hash } from "./everything.ts"

let estate: Estate
let carrier: Carrier
const folder = mkdtempSync(join(tmpdir(), "latchkey-transfer-"))
const file = join(folder, "corp.jsonl")
const carried = { withPasswords: true, withOtp: true, withSecrets: true }
const of = (instance: string) => ({ instance, orgIds: ["corp", "partner"], ...carried })

beforeAll(async () => {
  estate = await openEstate(["i1", "i2"])
  const data = { case: "dataOrgs", value: { orgs: everything } }
  await estate.as("owner", "importData", { data })
  const { store, clock } = estate
  carrier = carrierOf({
    store,
    clock,
    ids: estate.cx().ids,
    call: (instance, name) => estate.cx({ instance, caller: { kind: "system", name } }),
  })
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await estate.close()
})

test("what is written to a file is taken over line by line, and is the same there", async () => {
  const { lines } = await writeOut(carrier, of("i1"), file)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const text = readFileSync(file, "utf8")
  expect(text.trimEnd().split("\n")).toHaveLength(lines)
  expect(text).toContain(hash)

  const dry = await readIn(carrier, { instance: "i2", dryRun: true }, file)
  expect(dry).toEqual({ taken: expect.any(Number), refused: [] })
  const done = await readIn(carrier, { instance: "i2", dryRun: false }, file)
  expect(done).toEqual({ taken: dry.taken, refused: [] })
  const again = join(folder, "again.jsonl")
  await writeOut(carrier, of("i2"), again)
  expect(readFileSync(again, "utf8")).toBe(text)
})

test("a second time nothing is taken, and each line says why", async () => {
  const { taken, refused } = await readIn(carrier, { instance: "i2", dryRun: false }, file)
  expect(taken).toBe(0)
  expect(refused.map(({ type }) => type)).toContain("human_users")
})

test("lines that are none are named by their numbers, and the rest goes on", async () => {
  const broken = join(folder, "broken.jsonl")
  const good = `{"orgId":"lined","org":{"name":"Lined"}}`
  writeFileSync(
    broken,
    ["{", good, "", `{"org":{"name":"Nobody"}}`, `{"orgId":"x","y":1}`].join("\n"),
  )
  const { taken, refused } = await readIn(carrier, { instance: "i2", dryRun: false }, broken)
  expect(taken).toBe(1)
  expect(refused).toMatchObject([
    { type: "line", id: "1" },
    { type: "line", id: "4", message: "orgId is missing" },
    { type: "line", id: "5" },
  ])
})

test("a file that is there is not written over, and one that isn't is not read", async () => {
  await expect(writeOut(carrier, of("i1"), file)).rejects.toThrow("is there already")
  const missing = join(folder, "missing")
  const tried = readIn(carrier, { instance: "i1", dryRun: false }, missing)
  await expect(tried).rejects.toThrow("can't be read (ENOENT)")
})

test("several instances are told apart, and a session that is over is refused", async () => {
  const { instance: _, ...asked } = of("i1")
  await expect(writeOut(carrier, asked, join(folder, "x"))).rejects.toThrow("--instance: i1, i2")
  const old = { instance: "i1", session: "old", dryRun: false, lines: [], isLast: true }
  await expect(carrier.take(old)).rejects.toMatchObject({ id: "transfer.over" })
})

test("others have their turn while much is taken over and told", async () => {
  const people = 400
  const large = join(folder, "large.jsonl")
  const lines = Array.from({ length: people }, (_, at) => {
    const email = { email: `large${at}@example.com`, isEmailVerified: true }
    const user = { userName: `large${at}`, profile: { firstName: "A", lastName: "B" }, email }
    return JSON.stringify({ orgId: "corp", humanUsers: [{ userId: `large${at}`, user }] })
  })
  writeFileSync(large, lines.join("\n"))
  /** The most that is done between two turns of everybody else. */
  const most = async (done: () => number, work: () => Promise<unknown>) => {
    let [before, largest, isOver] = [done(), 0, false]
    const next = () => {
      largest = Math.max(largest, done() - before)
      before = done()
      if (!isOver) setImmediate(next)
    }
    setImmediate(next)
    await work()
    isOver = true
    return largest
  }
  const taking = () => readIn(carrier, { instance: "i1", dryRun: false }, large)
  expect(await most(() => estate.store.log.durable(), taking)).toBeLessThanOrEqual(10)
  let told = 0
  const wanted = { orgIds: ["corp"], excludedOrgIds: [], carried }
  const telling = async () => {
    for await (const _ of linesOf(estate.cx({ caller: { kind: "system", name: "t" } }), wanted))
      told++
  }
  expect(await most(() => told, telling)).toBeLessThanOrEqual(20)
  expect(told).toBeGreaterThan(people)
})

test("others have their turn while people of whom nothing is told are passed", async () => {
  await estate.as("owner", "importData", {
    data: {
      case: "dataOrgs",
      value: {
        orgs: [
          {
            orgId: "crowd",
            org: { name: "Crowd" },
            humanUsers: Array.from({ length: 300 }, (_, at) => ({
              userId: `crowd${at}`,
              user: {
                userName: `crowd${at}`,
                profile: { firstName: "C", lastName: `${at}` },
                email: { email: `crowd${at}@example.com`, isEmailVerified: true },
              },
            })),
          },
        ],
      },
    },
  })
  const cx = estate.cx({ instance: "i1", caller: { kind: "system", name: "test" } })
  let turns = 0
  let isOver = false
  const turning = () => {
    turns++
    if (!isOver) setImmediate(turning)
  }
  const wanted = { orgIds: ["crowd"], excludedOrgIds: [], carried }
  let people = 0
  let turnsAfter = 0
  setImmediate(turning)
  for await (const line of linesOf(cx, wanted)) {
    if (!line.includes('"humanUsers"')) continue
    people++
    turnsAfter = turns
  }
  isOver = true
  expect(people).toBe(300)
  // Metadata and links are looked for in each of them.
  expect(turns - turnsAfter).toBeGreaterThanOrEqual(30)
})
