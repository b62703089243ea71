import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { hashOfLine, sealLine } from "../../src/boot/audit/chain.ts"
import { exportEvents } from "../../src/boot/audit/export.ts"
import { exportPart, publicKey } from "../../src/boot/audit/part.ts"
import { verifyEvents } from "../../src/boot/audit/verify.ts"
import { removeInstance } from "../../src/domain/instance/index.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { Fault } from "../../src/kernel/fault.ts"
import { eventExportOf } from "../../src/server/operator/event-export.ts"
import { openProvider, type Provider } from "../oauth/provider.ts"

const folder = mkdtempSync(join(tmpdir(), "latchkey-audit-"))
const path = (name: string) => join(folder, name)
const whole = path("whole")

let provider: Provider
let commands: ReturnType<typeof eventExportOf>
beforeAll(async () => {
  provider = await openProvider()
  for (let at = 0; at < 150; at++) {
    await createUser(provider.cx(), `u${at}`, {
      kind: "human",
      orgId: provider.setup.orgId,
      userName: `person${at}`,
      profile: { givenName: "Pat", familyName: "Person" },
      email: { value: `person${at}@example.org`, verified: true },
      metadata: [{ key: "note", value: Buffer.from("person7 likes tea") }],
    })
  }
  commands = serving()
  await exported(whole)
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await provider.close()
})

function serving() {
  const { store, clock } = provider
  const call = (instance: string, name: string) =>
    provider.cx({ instance, caller: { kind: "system", name } })
  return eventExportOf({ store, clock, ids: provider.cx().ids, call })
}

const tell = async (asked: object) => exportPart.parse(await commands["events-export"]?.(asked))
const exported = (file: string, more: object = {}) =>
  exportEvents(file, { asked: {}, follows: false, tell, ...more })
const linesIn = (file: string) => readFileSync(file, "utf8").trimEnd().split("\n")
const eventsIn = (file: string) => linesIn(file).filter((line) => line.includes('"previous"'))
const isWrong = async (file: string) => (await verifyEvents(file, undefined)).wrong

test("all that has happened is in the file, sealed, and nothing private", async () => {
  const found = await verifyEvents(whole, undefined)
  expect(found).toMatchObject({ wrong: "", instance: "i1", after: 0 })
  expect(found.events).toBeGreaterThan(300)
  expect(found.seals).toBe(Math.ceil(found.events / 200))
  expect(found.upTo).toBe(provider.store.log.durable())
  expect(statSync(whole).mode & 0o777).toBe(0o600)
  const text = readFileSync(whole, "utf8")
  for (const secret of ["person7", "likes tea", "argon2", "@example.org", "Olga"]) {
    expect(text).not.toContain(secret)
  }
})

test("a second time only what came since is written", async () => {
  const file = path("again")
  writeFileSync(file, readFileSync(whole))
  expect(await exported(file)).toEqual({ lines: 0 })
  const before = linesIn(file)
  await provider.addPerson("later")
  commands = serving()
  await exported(file)
  const after = linesIn(file)
  expect(after.slice(0, before.length)).toEqual(before)
  expect(after.length).toBeGreaterThan(before.length + 1)
  expect(await isWrong(file)).toBe("")
})

test("whatever a kill cut off is written anew, and no event is lost or told twice", async () => {
  const { size } = statSync(whole)
  const positions = (file: string) => eventsIn(file).map((line) => JSON.parse(line).position)
  const full = path("full")
  await exported(full)
  for (let at = 0; at <= size; at += Math.floor(size / 13)) {
    const file = path("cut")
    writeFileSync(file, readFileSync(whole))
    truncateSync(file, at)
    await exported(file)
    expect(positions(file), `cut at ${at}`).toEqual(positions(full))
    expect(await isWrong(file), `cut at ${at}`).toBe("")
  }
})

const change = (name: string, edit: (lines: string[]) => string[]) => {
  const file = path(name)
  writeFileSync(file, `${edit(linesIn(whole)).join("\n")}\n`)
  return file
}
/** The same with each line's hash of the one before put right again. */
const chained = (lines: readonly string[]) => {
  const right: string[] = []
  for (const line of lines) {
    const { previous, ...event } = JSON.parse(line)
    const hash = hashOfLine(right.at(-1) ?? "")
    right.push(previous === undefined ? line : JSON.stringify({ previous: hash, ...event }))
  }
  return right
}
const replaced = (line = "") => line.replace(/"editor":"[^"]*"/, '"editor":"somebody-else"')

test.each<[what: string, edit: (lines: string[]) => string[], words: RegExp]>([
  ["a changed event", (all) => all.with(5, replaced(all[5])), /line 7 does not follow line 6/],
  ["an event left out", (all) => all.toSpliced(5, 1), /line 6 does not follow line 5/],
  ["an event told twice", (all) => all.toSpliced(5, 0, all[5] ?? ""), /line 7 does not follow/],
  ["two events turned round", (all) => all.toSpliced(5, 2, ...all.slice(5, 7).reverse()), /line 6/],
  ["a changed chain", (all) => chained(all.with(5, replaced(all[5]))), /is of other lines/],
  ["a missing seal", (all) => chained(all.slice(0, -1)), /lines have no seal behind them/],
  ["a line of something else", (all) => all.toSpliced(3, 0, "x"), /neither an event nor a seal/],
])("%s is found", async (what, edit, words) => {
  expect(await isWrong(change(what.replaceAll(" ", "-"), edit))).toMatch(words)
})

test("a seal by another key is found, also where the file names that", async () => {
  const key = publicKey.parse(await commands["events-key"]?.({}))
  writeFileSync(path("key"), JSON.stringify(key))
  expect(await verifyEvents(whole, path("key"))).toMatchObject({ wrong: "" })
  const { privateKey, publicKey: other } = await pair()
  const forged = change("forged", (all) => {
    const [first = "", second = ""] = all
    const head = { ...JSON.parse(first), key: other.export({ format: "jwk" }) }
    const lines = chained([JSON.stringify(head), second])
    const { position } = JSON.parse(second)
    const hash = hashOfLine(lines[1] ?? "")
    const seal = { instance: "i1", position, events: 1, hash, iat: 1 }
    return [...lines, sealLine({ id: "k", key: privateKey }, seal)]
  })
  expect(await isWrong(forged)).toBe("")
  expect((await verifyEvents(forged, path("key"))).wrong).toMatch(/line 3 is not by this key/)
  await expect(exported(forged)).rejects.toMatchObject({ id: "events.seal_foreign" })
})

const pair = async () => (await import("node:crypto")).generateKeyPairSync("ed25519")

test("what is no export is let be, and so is a file that somebody else writes to", async () => {
  writeFileSync(path("mine"), "my diary")
  await expect(exported(path("mine"))).rejects.toThrow("is no export of events")
  expect(readFileSync(path("mine"), "utf8")).toBe("my diary")
  await expect(verifyEvents(path("mine"), undefined)).rejects.toThrow("is no export of events")
  await expect(verifyEvents(path("none"), undefined)).rejects.toThrow("ENOENT")
  const shared = path("shared")
  const both = async (asked: object) => {
    writeFileSync(shared, "more", { flag: "a" })
    return tell(asked)
  }
  await expect(exported(shared, { tell: both })).rejects.toThrow("somebody else writes")
})

test("a file may begin behind a position, and following outlasts the server", async () => {
  const { upTo } = await verifyEvents(whole, undefined)
  const file = path("behind")
  let times = 0
  const gone = async (asked: object) => {
    if (++times === 2) throw new Fault("failed_precondition", "start.not_running", "gone")
    if (times === 4) throw new Error("enough")
    return tell(asked)
  }
  const following = exported(file, { asked: { after: upTo }, follows: true, tell: gone, pollMs: 1 })
  await expect(following).rejects.toThrow("enough")
  expect(await verifyEvents(file, undefined)).toMatchObject({ wrong: "", after: upTo })
  await expect(exported(file, { asked: { after: upTo } })).rejects.toThrow("leave --after out")
})

test("a line ends with LF alone, whatever else parts lines elsewhere", async () => {
  const { privateKey, publicKey: other } = await pair()
  const parting = (line = "") => line.replace(/"editor":"[^"]*"/, '"editor":"a\u2028b\u2029c"')
  const file = change("parting", (all) => {
    const head = { ...JSON.parse(all[0] ?? ""), key: other.export({ format: "jwk" }) }
    const lines = chained([JSON.stringify(head), parting(all[1])])
    const { position } = JSON.parse(lines[1] ?? "")
    const seal = { instance: "i1", position, events: 1, hash: hashOfLine(lines[1] ?? ""), iat: 1 }
    return [...lines, sealLine({ id: "k", key: privateKey }, seal)]
  })
  expect(await verifyEvents(file, undefined)).toMatchObject({ wrong: "", events: 1 })
  const turned = path("turned")
  writeFileSync(turned, readFileSync(file, "utf8").replaceAll("}\n{", "}\r{"))
  await expect(verifyEvents(turned, undefined)).rejects.toThrow("is no export of events")
})

test("of an instance that was removed the file gets what came last, and that it went", async () => {
  const file = path("removed")
  await exported(file)
  await provider.addPerson("last")
  const { instance } = provider.cx()
  await removeInstance(provider.cx(), instance)
  await exported(file)
  expect(await verifyEvents(file, undefined)).toMatchObject({ wrong: "", instance })
  const types = eventsIn(file).map((line) => JSON.parse(line).type)
  expect(types.slice(-5)).toContain("user.human.added")
  expect(types.at(-1)).toBe("instance.removed")
  const named = path("removed-named")
  await exported(named, { asked: { instance } })
  expect(eventsIn(named).length).toBe(eventsIn(file).length)
  await expect(exported(path("removed-unnamed"))).rejects.toMatchObject({ id: "transfer.instance" })
})
