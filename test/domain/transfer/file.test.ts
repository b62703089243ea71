import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { importFile, writeExport } from "../../../src/boot/transfer/file.ts"
import type { OrganizationTransfer } from "../../../src/boot/transfer/messages.ts"
import { exportLines } from "../../../src/domain/transfer/api.ts"
import { createTransfer } from "../../../src/server/operator/transfer.ts"
import { openTenant, type Tenant } from "../../support/tenant.ts"
import { everything, hash } from "./everything.ts"

let estate: Tenant
let transferer: OrganizationTransfer
const folder = mkdtempSync(join(tmpdir(), "latchkey-transfer-"))
const file = join(folder, "corp.jsonl")
const withCredentials = { withPasswords: true, withOtp: true, withSecrets: true }
const exportOf = (instance: string) => ({
  instance,
  orgIds: ["corp", "partner"],
  ...withCredentials,
})

beforeAll(async () => {
  estate = await openTenant(["i1", "i2"])
  const data = { case: "dataOrgs", value: { orgs: everything } }
  await estate.as("owner", "importData", { data })
  const { store, clock } = estate
  transferer = createTransfer({
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

test("an exported file is imported line by line with the same content", async () => {
  const { lines } = await writeExport(transferer, exportOf("i1"), file)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const text = readFileSync(file, "utf8")
  expect(text.trimEnd().split("\n")).toHaveLength(lines)
  expect(text).toContain(hash)

  const dry = await importFile(transferer, { instance: "i2", dryRun: true }, file)
  expect(dry).toEqual({ taken: expect.any(Number), refused: [] })
  const done = await importFile(transferer, { instance: "i2", dryRun: false }, file)
  expect(done).toEqual({ taken: dry.taken, refused: [] })
  const again = join(folder, "again.jsonl")
  await writeExport(transferer, exportOf("i2"), again)
  expect(readFileSync(again, "utf8")).toBe(text)
})

test("a second import changes nothing and reports the reason for each line", async () => {
  const { taken, refused } = await importFile(transferer, { instance: "i2", dryRun: false }, file)
  expect(taken).toBe(0)
  expect(refused.map(({ type }) => type)).toContain("human_users")
})

test("invalid lines are reported by number, and the rest is imported", async () => {
  const broken = join(folder, "broken.jsonl")
  const good = `{"orgId":"lined","org":{"name":"Lined"}}`
  writeFileSync(
    broken,
    ["{", good, "", `{"org":{"name":"Nobody"}}`, `{"orgId":"x","y":1}`].join("\n"),
  )
  const { taken, refused } = await importFile(transferer, { instance: "i2", dryRun: false }, broken)
  expect(taken).toBe(1)
  expect(refused).toMatchObject([
    { type: "line", id: "1" },
    { type: "line", id: "4", message: "orgId is required" },
    { type: "line", id: "5" },
  ])
})

test("export does not overwrite a file, and import requires one", async () => {
  await expect(writeExport(transferer, exportOf("i1"), file)).rejects.toThrow(
    "already exists; name another file",
  )
  const missing = join(folder, "missing")
  const tried = importFile(transferer, { instance: "i1", dryRun: false }, missing)
  await expect(tried).rejects.toThrow("can't be read (ENOENT)")
})

test("requires an instance if there are several, and rejects an expired session", async () => {
  const { instance: _, ...asked } = exportOf("i1")
  await expect(writeExport(transferer, asked, join(folder, "x"))).rejects.toThrow(
    "--instance: i1, i2",
  )
  const old = { instance: "i1", session: "old", dryRun: false, lines: [], isLast: true }
  await expect(transferer.take(old)).rejects.toMatchObject({ id: "transfer.over" })
})

test("other requests run during a large import and export", async () => {
  const people = 400
  const large = join(folder, "large.jsonl")
  const lines = Array.from({ length: people }, (_, at) => {
    const email = { email: `large${at}@example.com`, isEmailVerified: true }
    const user = { userName: `large${at}`, profile: { firstName: "A", lastName: "B" }, email }
    return JSON.stringify({ orgId: "corp", humanUsers: [{ userId: `large${at}`, user }] })
  })
  writeFileSync(large, lines.join("\n"))
  /** The most work between two turns of the event loop. */
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
  const taking = () => importFile(transferer, { instance: "i1", dryRun: false }, large)
  expect(await most(() => estate.store.log.durable(), taking)).toBeLessThanOrEqual(10)
  let told = 0
  const wanted = { orgIds: ["corp"], excludedOrgIds: [], carried: withCredentials }
  const telling = async () => {
    for await (const _ of exportLines(estate.cx({ caller: { kind: "system", name: "t" } }), wanted))
      told++
  }
  expect(await most(() => told, telling)).toBeLessThanOrEqual(20)
  expect(told).toBeGreaterThan(people)
})

test("other requests run while unreported users are skipped", async () => {
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
  const wanted = { orgIds: ["crowd"], excludedOrgIds: [], carried: withCredentials }
  let people = 0
  let turnsAfter = 0
  setImmediate(turning)
  for await (const line of exportLines(cx, wanted)) {
    if (!line.includes('"humanUsers"')) continue
    people++
    turnsAfter = turns
  }
  isOver = true
  expect(people).toBe(300)
  // Metadata and links are looked up for each user.
  expect(turns - turnsAfter).toBeGreaterThanOrEqual(30)
})
