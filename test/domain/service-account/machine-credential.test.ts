import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { findMachine } from "../../../src/domain/service-account/find.ts"
import { isMachineSecret } from "../../../src/domain/service-account/machine-secret.ts"
import { readPersonalToken } from "../../../src/domain/service-account/personal-token.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { removeUser, updateUser } from "../../../src/domain/user/index.ts"
import { never } from "../../../src/kernel/crypto/signing-key.ts"
import { ask } from "../../support/ask.ts"
import { shares } from "../../support/user-modules.ts"
import { callerOf, type World } from "../../support/world.ts"
import { anna, machine, openHousehold, robot } from "../user/household.ts"

let world: World
beforeEach(async () => {
  world = await openHousehold()
  await robot(world.cx())
})
afterEach(() => world.close())

const of = (version: string) => shares.filter(({ service }) => service.typeName.includes(version))
const [v2, v1] = [of(".v2."), of(".v1.")]
const day = 86_400_000
const later = () => timestampFromMs(world.clock.now() + day)
const m1 = { userId: "m1" }

const by = () => world.cx({ caller: callerOf("anna") })

const fits = (secret: string) => {
  const found = findMachine(world.cx(), "m1")
  return found !== undefined && isMachineSecret(world.cx(), "m1", { state: found.state, secret })
}

describe("a service user's secret", () => {
  const addSecret = async () => (await ask(v2, "addSecret", by(), m1)).clientSecret

  test("is shown once, and only its hash is kept", async () => {
    const secret = await addSecret()
    expect(secret).toMatch(/^[\w-]{64}$/)
    expect([fits(secret), fits(`${secret}A`), fits("")]).toEqual([true, false, false])
    expect(JSON.stringify(await world.store.log.read(0, 100))).not.toContain(secret)
  })

  test("is replaced by the next one, and erased", async () => {
    const [old, next] = [await addSecret(), await addSecret()]
    expect([fits(old), fits(next)]).toEqual([false, true])
    await ask(v2, "removeSecret", by(), m1)
    expect(fits(next)).toBe(false)
    expect(JSON.stringify(await world.store.log.read(0, 100))).not.toContain('hashedSecret":"')
  })

  test("is removed once in v2 and refused twice in v1", async () => {
    await addSecret()
    const { deletionDate } = await ask(v2, "removeSecret", by(), m1)
    expect(timestampMs(deletionDate)).toBe(world.clock.now())
    expect((await ask(v2, "removeSecret", by(), m1)).deletionDate).toBeUndefined()
    await expect(ask(v1, "removeMachineSecret", by(), m1)).rejects.toMatchObject({
      code: "not_found",
    })
  })

  test("goes with the user name as client id, which v1 says with it", async () => {
    const { clientId, clientSecret } = await ask(v1, "generateMachineSecret", by(), m1)
    expect(clientId).toBe("robot")
    expect(fits(clientSecret)).toBe(true)
    await ask(v1, "removeMachineSecret", by(), m1)
    expect(fits(clientSecret)).toBe(false)
  })

  test("is shown to be there, in both versions", async () => {
    const seen = async () => {
      const two = await ask(v2, "getUserByID", world.cx(), m1)
      const one = await ask(v1, "getUserByID", world.cx(), { id: "m1" })
      return [two.user.type.value.hasSecret, one.user.type.value.hasSecret]
    }
    expect(await seen()).toEqual([false, false])
    await addSecret()
    expect(await seen()).toEqual([true, true])
    await ask(v2, "removeSecret", by(), m1)
    expect(await seen()).toEqual([false, false])
  })
})

const token = (request: object = {}) =>
  ask(v2, "addPersonalAccessToken", by(), {
    ...m1,
    expirationDate: later(),
    ...request,
  })

describe("a personal access token", () => {
  test("is shown once, and nothing of it is kept", async () => {
    const made = await token()
    expect(made.token).toMatch(/^latchkey_pat_[\w-]+\.[\w-]+$/)
    expect(JSON.stringify(await world.store.log.read(0, 100))).not.toContain(made.token.slice(20))
    expect(readPersonalToken(world.cx(), made.token)).toMatchObject({
      id: made.tokenId,
      userId: "m1",
      expires: world.clock.now() + day,
      scopes: ["openid", "profile", "urn:core:iam:org:project:id:core:aud"],
    })
  })

  test("is listed by the name it was given, where it was given one", async () => {
    const add = (name?: string) =>
      ask(v2, "addPersonalAccessToken", by(), { ...m1, expirationDate: later(), name })
    const [named, nameless] = [await add(" Nightly copy "), await add()]
    const { result } = await ask(v2, "listPersonalAccessTokens", by(), {})
    expect(Object.fromEntries(result.map(({ id, name }: any) => [id, name]))).toEqual({
      [named.tokenId]: "Nightly copy",
      [nameless.tokenId]: "",
    })
    for (const name of ["a\nb", "x".repeat(201)])
      await expect(add(name)).rejects.toMatchObject({ id: "user.name_invalid" })
  })

  test("is read in its one spelling, and on its instance", async () => {
    const made = await token()
    const read = (text: string, instance = "i1") => readPersonalToken(world.cx({ instance }), text)
    expect(read(made.token)).toBeDefined()
    expect(read(made.token, "i2")).toBeUndefined()
    const [head = "", tail = ""] = made.token.split(".")
    const spellings = [
      made.token.slice(0, -1),
      `${made.token}A`,
      `${made.token}=`,
      made.token.slice("latchkey_pat_".length),
      made.token.toUpperCase(),
      `${head}.${tail.replace(/[a-z]/, (letter: string) => letter.toUpperCase())}`,
      "latchkey_pat_",
      "",
    ]
    for (const text of spellings) expect(read(text), text).toBeUndefined()
  })

  test("is gone when it is removed, and when its user is", async () => {
    const [one, two] = [await token(), await token()]
    const request = { ...m1, tokenId: one.tokenId }
    const { deletionDate } = await ask(v2, "removePersonalAccessToken", by(), request)
    expect(timestampMs(deletionDate)).toBe(world.clock.now())
    expect(readPersonalToken(world.cx(), one.token)).toBeUndefined()
    expect(readPersonalToken(world.cx(), two.token)).toBeDefined()
    for (const tokenId of [one.tokenId, "__proto__", "constructor"]) {
      const again = { ...m1, tokenId }
      const answer = await ask(v2, "removePersonalAccessToken", by(), again)
      expect(answer.deletionDate, tokenId).toBeUndefined()
      await expect(ask(v1, "removePersonalAccessToken", by(), again)).rejects.toMatchObject({
        code: "not_found",
      })
    }
    await removeUser(world.cx(), "m1")
    expect(readPersonalToken(world.cx(), two.token)).toBeUndefined()
  })

  test("of another user can't be removed by who may write this one", async () => {
    await robot(world.cx(), { userName: "drone" }, "m2")
    const { tokenId, token: text } = await token({ userId: "m2" })
    await ask(v2, "removePersonalAccessToken", by(), { ...m1, tokenId })
    expect(readPersonalToken(world.cx(), text)).toBeDefined()
    const request = { ...m1, tokenId }
    await expect(ask(v1, "getPersonalAccessTokenByIDs", world.cx(), request)).rejects.toMatchObject(
      { code: "not_found" },
    )
  })

  test.each([
    ["without an end, in v2", { expirationDate: undefined }],
    ["with an end that has passed", { expirationDate: timestampFromMs(0) }],
  ])("is refused %s", async (_, request) => {
    await expect(token(request)).rejects.toMatchObject({ code: "invalid_argument" })
  })

  test("lasts for ever where v1 names no end", async () => {
    const made = await ask(v1, "addPersonalAccessToken", by(), m1)
    expect(readPersonalToken(world.cx(), made.token)?.expires).toBe(never)
    const asked = { ...m1, tokenId: made.tokenId }
    const { token: shown } = await ask(v1, "getPersonalAccessTokenByIDs", world.cx(), asked)
    expect(shown).toMatchObject({ id: made.tokenId, scopes: expect.arrayContaining(["openid"]) })
  })

  test("is one of a hundred at most", async () => {
    for (let at = 0; at < 100; at++) await token()
    await expect(token()).rejects.toMatchObject({ code: "resource_exhausted" })
  })

  test("is listed by filter and scope, in v1 by its user", async () => {
    await robot(world.cx(), { userName: "drone", orgId: "org2" }, "m2")
    const first = await token()
    world.clock.advance(10)
    await token()
    const other = await token({ userId: "m2" })
    const list = async (request: object, scope?: object) => {
      const cx = world.cx(
        scope && { scope: { all: false, orgs: [], projects: [], grants: [], ...scope } },
      )
      const { result } = await ask(v2, "listPersonalAccessTokens", cx, request)
      return result.map(({ id }: { id: string }) => id)
    }
    const by = (kind: string, value: object) => ({ filters: [{ filter: { case: kind, value } }] })
    expect(await list(by("tokenIdFilter", { id: first.tokenId }))).toEqual([first.tokenId])
    expect(await list(by("userIdFilter", { id: "m1" }))).toHaveLength(2)
    expect(await list(by("organizationIdFilter", { id: "org2" }))).toEqual([other.tokenId])
    const now = timestampFromMs(world.clock.now())
    expect(await list(by("createdDateFilter", { timestamp: now, method: 3 }))).toEqual([
      first.tokenId,
    ])
    expect(await list(by("expirationDateFilter", { timestamp: now, method: 1 }))).toHaveLength(3)
    expect(await list({}, { orgs: ["org2"] })).toEqual([other.tokenId])
    expect(await list({}, { self: "m1" })).toHaveLength(2)
    await expect(list({ filters: [{}] })).rejects.toMatchObject({ code: "invalid_argument" })
    const v1list = await ask(v1, "listPersonalAccessTokens", world.cx(), m1)
    expect(v1list.details.totalResult).toBe(2n)
    expect(JSON.stringify(v1list.result, bigints)).not.toContain("latchkey_pat_")
  })
})

const bigints = (_: string, value: unknown) => (typeof value === "bigint" ? `${value}` : value)

describe("keys in v1", () => {
  const add = (request: object = {}) =>
    ask(v1, "addMachineKey", by(), { ...m1, type: 1, ...request })

  test("are the same keys: made, shown, listed and removed", async () => {
    const { keyId, keyDetails } = await add()
    expect(JSON.parse(Buffer.from(keyDetails).toString())).toMatchObject({ keyId, userId: "m1" })
    const request = { ...m1, keyId }
    const { key } = await ask(v1, "getMachineKeyByIDs", world.cx(), request)
    expect(key).toMatchObject({ id: keyId, type: 1 })
    expect(timestampMs(key.expirationDate)).toBe(never)
    const { result } = await ask(v1, "listMachineKeys", world.cx(), m1)
    expect(result).toHaveLength(1)
    await ask(v1, "removeMachineKey", by(), request)
    for (const name of ["getMachineKeyByIDs", "removeMachineKey"]) {
      const again = ask(v1, name, by(), request)
      await expect(again, name).rejects.toMatchObject({ code: "not_found" })
    }
  })

  test("have a type", async () => {
    await expect(add({ type: 0 })).rejects.toMatchObject({ code: "invalid_argument" })
  })
})

/** Every operation that gives somebody a way to act as a service user. */
const giving: readonly (readonly [string, typeof v1, object])[] = [
  ["addSecret", v2, {}],
  ["addPersonalAccessToken", v2, {}],
  ["generateMachineSecret", v1, {}],
  ["addMachineKey", v1, { type: 1 }],
  ["addPersonalAccessToken", v1, {}],
]
describe.each(giving)("%s", (name, share, more) => {
  const give = (userId: string) =>
    ask(share, name, by(), { userId, expirationDate: later(), ...more })

  test("is for service users that are there", async () => {
    await anna(world.cx())
    await expect(give("u1")).rejects.toMatchObject({ id: "user.not_machine" })
    await expect(give("nobody")).rejects.toMatchObject({ code: "not_found" })
  })
})

describe("names, ids and client ids of service users are one namespace:", () => {
  const add = (id: string, userName: string) => createUser(world.cx(), id, machine({ userName }))

  test("a name is not another's id, and an id is not another's name", async () => {
    await expect(add("m2", "m1")).rejects.toMatchObject({ code: "already_exists" })
    await expect(add("robot", "drone")).rejects.toMatchObject({
      code: "already_exists",
      id: "user.id_is_client",
    })
    await add("m2", "m2")
    const renamed = updateUser(world.cx(), "m2", { userName: "m1" })
    await expect(renamed).rejects.toMatchObject({ code: "already_exists" })
  })

  test("a user that was named like its id keeps the id when it is renamed", async () => {
    await add("m2", "m2")
    await updateUser(world.cx(), "m2", { userName: "drone" })
    await expect(add("m3", "m2")).rejects.toMatchObject({ code: "already_exists" })
    expect(findMachine(world.cx(), "drone")?.userId).toBe("m2")
    expect(findMachine(world.cx(), "m2")?.userId).toBe("m2")
    await updateUser(world.cx(), "m2", { userName: "m2" })
    expect(findMachine(world.cx(), "drone")).toBeUndefined()
    await removeUser(world.cx(), "m2")
    expect(findMachine(world.cx(), "m2")).toBeUndefined()
    await add("m3", "m2")
    expect(findMachine(world.cx(), "m2")?.userId).toBe("m3")
  })

  test("people are no clients", async () => {
    await anna(world.cx())
    for (const id of ["u1", "anna"]) expect(findMachine(world.cx(), id), id).toBeUndefined()
  })
})
