import { readdirSync, readFileSync, readlinkSync } from "node:fs"
import { afterEach, beforeEach, expect, test } from "vitest"
import { setPassword } from "../../../src/domain/credential/commands.ts"
import { generateMachineSecret } from "../../../src/domain/service-account/machine-secret.ts"
import { createPersonalToken } from "../../../src/domain/service-account/personal-token.ts"
import { addServiceKey } from "../../../src/domain/service-account/service-key.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { removeUser, setMetadata, updateUser } from "../../../src/domain/user/index.ts"
import { findByLoginName } from "../../../src/domain/user-lookup/find-name.ts"
import { users } from "../../../src/domain/user-lookup/view.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { isAbsent } from "../../../src/domain/user-model/state.ts"
import { neverExpires } from "../../../src/kernel/crypto/signing-key.ts"
import { search } from "../../../src/store/index.ts"
import { callOperation } from "../../support/call-operation.ts"
import type { TestEnvironment } from "../../support/test-environment.ts"
import { shares } from "../../support/user-modules.ts"
import { until } from "../../support/wait.ts"
import { createAnna, createRobot, openUserWorld } from "./household.ts"

let world: TestEnvironment
beforeEach(async () => {
  world = await openUserWorld("i1", { textIndexFrom: 0 })
})
afterEach(() => world.close())

/** The whole database, including view rows and blobs, as one string. */
function databaseText(): string {
  const { database } = world.store
  const tables = database
    .query<{ name: string }, []>("SELECT name FROM sqlite_master WHERE type = 'table'")
    .all()
  const rows = tables.map(({ name }) => database.query(`SELECT * FROM "${name}"`).all())
  return JSON.stringify(rows, (_, value) =>
    value instanceof Uint8Array ? `${Buffer.from(value)} ${Buffer.from(value).toBase64()}` : value,
  )
}

/** Every byte of the database files. */
const databaseBytes = (): string =>
  ["", "-wal"]
    .map((end) => `${world.store.database.filename}${end}`)
    .map((file) => readFileSync(file).toString("latin1"))
    .join()

/** Every byte of the text index, whose file has been unlinked. */
function indexBytes(): string {
  const open = "/proc/self/fd"
  const targetOf = (fd: string): string => {
    try {
      return readlinkSync(`${open}/${fd}`)
    } catch {
      return ""
    }
  }
  // In a worker it has another name.
  const isIt = (file: string) =>
    file.startsWith(world.store.database.filename) && file.endsWith("-texts (deleted)")
  const [fd] = readdirSync(open).filter((each) => isIt(targetOf(each)))
  return fd === undefined ? "" : readFileSync(`${open}/${fd}`).toString("latin1")
}

/** Searches for a user, so that the index exists. */
async function searchUsers(name: string): Promise<number> {
  const page = { offset: 0, limit: 10, asc: true }
  const filters = [{ text: "email_folded", method: "contains", value: name }] as const
  return (await search(world.cx(), users, { page, filters })).total
}

const eventsOf = async (id: string) =>
  (await world.store.log.read(0, 500)).filter((event) => event.id === id)

test("of a deleted user only the fact and time of each event remain", async () => {
  const cx = world.cx()
  await createAnna(cx, { metadata: [{ key: "team", value: Buffer.from("Confidential-1") }] })
  const asked = { userId: "u1", verification: { case: "returnCode", value: {} } }
  const email = await callOperation(shares, "setEmail", cx, {
    ...asked,
    email: "second@private.example",
  })
  const phone = await callOperation(shares, "setPhone", cx, { ...asked, phone: "+41795550123" })
  await callOperation(shares, "verifyEmail", cx, {
    userId: "u1",
    verificationCode: email.verificationCode,
  })
  await callOperation(shares, "verifyPhone", cx, {
    userId: "u1",
    verificationCode: "AAAAAA",
  }).catch(() => 0)
  await updateUser(cx, "u1", {
    userName: "annabel",
    human: { profile: { nickName: "Secretnick", familyName: "Bergson" } },
  })
  const invitation = { userId: "u1", verification: { case: "returnCode", value: {} } }
  const invited = await callOperation(shares, "createInviteCode", cx, invitation)
  await setPassword(cx, "u1", { hash: "hash-of-hers", changeRequired: false })
  await setMetadata(cx, "u1", [{ key: "team", value: Buffer.from("Confidential-2") }])

  const before = (await eventsOf("u1")).map(({ type, position }) => ({ type, position }))
  const traces = [
    "anna",
    "Berg",
    "Secretnick",
    "private.example",
    "795550123",
    "hash-of-hers",
    "Confidential",
    Buffer.from("Confidential-2").toBase64(),
  ]
  for (const trace of traces) expect(databaseText(), trace).toContain(trace)
  await removeUser(cx, "u1")
  for (const trace of traces) expect(databaseText(), trace).not.toContain(trace)
  expect(databaseText()).not.toContain(phone.verificationCode)
  expect(databaseText()).not.toContain(invited.inviteCode)

  const left = await eventsOf("u1")
  const trail = left.map(({ type, position }) => ({ type, position }))
  expect(trail.slice(0, -1)).toEqual(before)
  expect(trail.at(-1)?.type).toBe("user.removed")
  expect(left.every((event) => event.private === null)).toBe(true)
})

test("no byte of deleted users remains in the database files", async () => {
  const people = Array.from({ length: 100 }, (_, at) => `u${at}`)
  const traces = ["Wolpertinger", "wolpertinger", "quixotic", "Schnurz"]
  for (const id of people) {
    await createUser(world.cx(), id, {
      kind: "human",
      orgId: "org1",
      userName: `quixotic-${id}`,
      profile: { givenName: `Schnurz-${id}`, familyName: `Wolpertinger-${id}` },
      email: { value: `wolpertinger-${id}@private.example`, verified: true },
    })
  }
  for (const trace of traces) expect(databaseBytes().includes(trace), trace).toBe(true)
  expect(await searchUsers("wolpertinger")).toBe(100)
  const indexed = traces.map((trace) => trace.toLowerCase())
  const missing = () => indexed.filter((trace) => !indexBytes().includes(trace))
  await until(() => missing().length === 0, { what: () => `${missing()} in the index` })
  for (const id of people) await removeUser(world.cx(), id)
  await world.store.scrub()
  for (const trace of traces) expect(databaseBytes().includes(trace), trace).toBe(false)
  expect(indexBytes()).not.toBe("")
  for (const trace of indexed) expect(indexBytes().includes(trace), trace).toBe(false)
  expect(await searchUsers("wolpertinger")).toBe(0)
  await createUser(world.cx(), "next", {
    kind: "human",
    orgId: "org1",
    userName: "next",
    profile: { givenName: "Next", familyName: "One" },
    email: { value: "next@private.example", verified: true },
  })
  expect(findByLoginName(world.cx(), "next")).toBe("next")
})

test("nothing usable of a deleted service account remains", async () => {
  const cx = world.cx()
  await createRobot(cx, { name: "Payroll", description: "Pays Zoe" })
  await addServiceKey(cx, "m1", { keyId: "k1", publicKey: "pem", expires: neverExpires })
  const { secret } = await generateMachineSecret(cx, "m1")
  const { token } = await createPersonalToken(cx, "m1", neverExpires)
  const sealed = (await eventsOf("m1")).flatMap((event) => Object.values(Object(event.private)))
  await removeUser(cx, "m1")
  const left = databaseText()
  for (const trace of ["Payroll", "Zoe", "robot", secret, token]) {
    expect(left, trace).not.toContain(trace)
  }
  for (const value of sealed.filter((each) => String(each).length > 8)) {
    expect(left).not.toContain(String(value))
  }
  expect(isAbsent(world.store.state(cx, user, "m1"))).toBe(true)
  expect((await eventsOf("m1")).at(-1)?.type).toBe("user.removed")
})
