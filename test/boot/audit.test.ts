import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { createSealLine, hashOfLine } from "../../src/boot/audit/chain.ts"
import { exportEvents } from "../../src/boot/audit/export.ts"
import { exportPart, publicKey } from "../../src/boot/audit/part.ts"
import { verifyEvents } from "../../src/boot/audit/verify.ts"
import { removeInstance } from "../../src/domain/instance/index.ts"
import { createUser } from "../../src/domain/user/create.ts"
import { Fault } from "../../src/kernel/fault.ts"
import { createEventExportControl } from "../../src/server/operator/event-export.ts"
import { openProvider, type Provider } from "../oauth/provider.ts"

const folder = mkdtempSync(join(tmpdir(), "latchkey-audit-"))
const path = (name: string) => join(folder, name)
const completeFile = path("whole")

let provider: Provider
let commands: ReturnType<typeof createEventExportControl>
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
  commands = startServing()
  await exportTo(completeFile)
})
afterAll(async () => {
  rmSync(folder, { recursive: true })
  await provider.close()
})

function startServing() {
  const { store, clock } = provider
  const call = (instance: string, name: string) =>
    provider.cx({ instance, caller: { kind: "system", name } })
  return createEventExportControl({ store, clock, ids: provider.cx().ids, call })
}

const callCommand = async (request: object) =>
  exportPart.parse(await commands["events-export"]?.(request))
const exportTo = (file: string, more: object = {}) =>
  exportEvents(file, { startAt: {}, follows: false, requestPart: callCommand, ...more })
const linesIn = (file: string) => readFileSync(file, "utf8").trimEnd().split("\n")
const eventsIn = (file: string) => linesIn(file).filter((line) => line.includes('"previous"'))
const hasErrors = async (file: string) => (await verifyEvents(file, undefined)).wrong

test("the file contains every event, sealed and without private data", async () => {
  const found = await verifyEvents(completeFile, undefined)
  expect(found).toMatchObject({ wrong: "", instance: "i1", after: 0 })
  expect(found.events).toBeGreaterThan(300)
  expect(found.seals).toBe(Math.ceil(found.events / 200))
  expect(found.upTo).toBe(provider.store.log.durable())
  expect(statSync(completeFile).mode & 0o777).toBe(0o600)
  const text = readFileSync(completeFile, "utf8")
  for (const secret of ["person7", "likes tea", "argon2", "@example.org", "Olga"]) {
    expect(text).not.toContain(secret)
  }
})

test("a second export appends only newer events", async () => {
  const file = path("again")
  writeFileSync(file, readFileSync(completeFile))
  expect(await exportTo(file)).toEqual({ lines: 0 })
  const before = linesIn(file)
  await provider.addPerson("later")
  commands = startServing()
  await exportTo(file)
  const after = linesIn(file)
  expect(after.slice(0, before.length)).toEqual(before)
  expect(after.length).toBeGreaterThan(before.length + 1)
  expect(await hasErrors(file)).toBe("")
})

test("lines cut off by a kill are written again, and no event is lost or repeated", async () => {
  const { size } = statSync(completeFile)
  const positions = (file: string) => eventsIn(file).map((line) => JSON.parse(line).position)
  const full = path("full")
  await exportTo(full)
  for (let at = 0; at <= size; at += Math.floor(size / 13)) {
    const file = path("cut")
    writeFileSync(file, readFileSync(completeFile))
    truncateSync(file, at)
    await exportTo(file)
    expect(positions(file), `cut at ${at}`).toEqual(positions(full))
    expect(await hasErrors(file), `cut at ${at}`).toBe("")
  }
})

const editedCopy = (name: string, edit: (lines: string[]) => string[]) => {
  const file = path(name)
  writeFileSync(file, `${edit(linesIn(completeFile)).join("\n")}\n`)
  return file
}
/** The file with the hash of the previous line recomputed in each line. */
const rechain = (lines: readonly string[]) => {
  const right: string[] = []
  for (const line of lines) {
    const { previous, ...event } = JSON.parse(line)
    const hash = hashOfLine(right.at(-1) ?? "")
    right.push(previous === undefined ? line : JSON.stringify({ previous: hash, ...event }))
  }
  return right
}
const withOtherEditor = (line = "") => line.replace(/"editor":"[^"]*"/, '"editor":"somebody-else"')

test.each<[what: string, edit: (lines: string[]) => string[], words: RegExp]>([
  [
    "a changed event",
    (all) => all.with(5, withOtherEditor(all[5])),
    /line 7 does not follow line 6/,
  ],
  ["an event left out", (all) => all.toSpliced(5, 1), /line 6 does not follow line 5/],
  ["an event told twice", (all) => all.toSpliced(5, 0, all[5] ?? ""), /line 7 does not follow/],
  ["two events turned round", (all) => all.toSpliced(5, 2, ...all.slice(5, 7).reverse()), /line 6/],
  [
    "a changed chain",
    (all) => rechain(all.with(5, withOtherEditor(all[5]))),
    /the seal in line 202 does not match the lines before it/,
  ],
  ["a missing seal", (all) => rechain(all.slice(0, -1)), /the last \d+ lines have no seal/],
  ["a line of another resource", (all) => all.toSpliced(3, 0, "x"), /neither an event nor a seal/],
])("%s is detected", async (description, edit, words) => {
  expect(await hasErrors(editedCopy(description.replaceAll(" ", "-"), edit))).toMatch(words)
})

test("a seal by another key is detected, even if the file names that key", async () => {
  const key = publicKey.parse(await commands["events-key"]?.({}))
  writeFileSync(path("key"), JSON.stringify(key))
  expect(await verifyEvents(completeFile, path("key"))).toMatchObject({ wrong: "" })
  const { privateKey, publicKey: other } = await createKeyPair()
  const forged = editedCopy("forged", (all) => {
    const [first = "", second = ""] = all
    const head = { ...JSON.parse(first), key: other.export({ format: "jwk" }) }
    const lines = rechain([JSON.stringify(head), second])
    const { position } = JSON.parse(second)
    const hash = hashOfLine(lines[1] ?? "")
    const seal = { instance: "i1", position, events: 1, hash, iat: 1 }
    return [...lines, createSealLine({ id: "k", key: privateKey }, seal)]
  })
  expect(await hasErrors(forged)).toBe("")
  expect((await verifyEvents(forged, path("key"))).wrong).toMatch(
    /line 3 is not signed with this key/,
  )
  await expect(exportTo(forged)).rejects.toMatchObject({ id: "events.seal_foreign" })
})

const createKeyPair = async () => (await import("node:crypto")).generateKeyPairSync("ed25519")

test("a file that is not an export, or that another process is writing, is left unchanged", async () => {
  writeFileSync(path("mine"), "my diary")
  await expect(exportTo(path("mine"))).rejects.toThrow("is not an event export; name another")
  expect(readFileSync(path("mine"), "utf8")).toBe("my diary")
  await expect(verifyEvents(path("mine"), undefined)).rejects.toThrow("is not an event export")
  await expect(verifyEvents(path("none"), undefined)).rejects.toThrow("ENOENT")
  const shared = path("shared")
  const both = async (request: object) => {
    writeFileSync(shared, "more", { flag: "a" })
    return callCommand(request)
  }
  await expect(exportTo(shared, { requestPart: both })).rejects.toThrow(
    "another process is writing",
  )
})

test("a file can start after a position, and following survives a server restart", async () => {
  const { upTo } = await verifyEvents(completeFile, undefined)
  const file = path("behind")
  let times = 0
  const gone = async (request: object) => {
    if (++times === 2) throw new Fault("failed_precondition", "start.not_running", "gone")
    if (times === 4) throw new Error("enough")
    return callCommand(request)
  }
  const following = exportTo(file, {
    startAt: { after: upTo },
    follows: true,
    requestPart: gone,
    pollMs: 1,
  })
  await expect(following).rejects.toThrow("enough")
  expect(await verifyEvents(file, undefined)).toMatchObject({ wrong: "", after: upTo })
  await expect(exportTo(file, { startAt: { after: upTo } })).rejects.toThrow("omit --after")
})

test("a line ends with LF only, whatever separates lines elsewhere", async () => {
  const { privateKey, publicKey: other } = await createKeyPair()
  const parting = (line = "") => line.replace(/"editor":"[^"]*"/, '"editor":"a\u2028b\u2029c"')
  const file = editedCopy("parting", (all) => {
    const head = { ...JSON.parse(all[0] ?? ""), key: other.export({ format: "jwk" }) }
    const lines = rechain([JSON.stringify(head), parting(all[1])])
    const { position } = JSON.parse(lines[1] ?? "")
    const seal = { instance: "i1", position, events: 1, hash: hashOfLine(lines[1] ?? ""), iat: 1 }
    return [...lines, createSealLine({ id: "k", key: privateKey }, seal)]
  })
  expect(await verifyEvents(file, undefined)).toMatchObject({ wrong: "", events: 1 })
  const turned = path("turned")
  writeFileSync(turned, readFileSync(file, "utf8").replaceAll("}\n{", "}\r{"))
  await expect(verifyEvents(turned, undefined)).rejects.toThrow("is not an event export")
})

test("the file receives the last events of a removed instance and its removal", async () => {
  const file = path("removed")
  await exportTo(file)
  await provider.addPerson("last")
  const { instance } = provider.cx()
  await removeInstance(provider.cx(), instance)
  await exportTo(file)
  expect(await verifyEvents(file, undefined)).toMatchObject({ wrong: "", instance })
  const types = eventsIn(file).map((line) => JSON.parse(line).type)
  expect(types.slice(-5)).toContain("user.human.added")
  expect(types.at(-1)).toBe("instance.removed")
  const named = path("removed-named")
  await exportTo(named, { startAt: { instance } })
  expect(eventsIn(named).length).toBe(eventsIn(file).length)
  await expect(exportTo(path("removed-unnamed"))).rejects.toMatchObject({ id: "transfer.instance" })
})
