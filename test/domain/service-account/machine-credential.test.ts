import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { findMachine } from "../../../src/domain/service-account/find.ts"
import { isMachineSecret } from "../../../src/domain/service-account/machine-secret.ts"
import { parsePersonalToken } from "../../../src/domain/service-account/personal-token.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { removeUser, updateUser } from "../../../src/domain/user/index.ts"
import { neverExpires } from "../../../src/kernel/crypto/signing-key.ts"
import { callOperation } from "../../support/call-operation.ts"
import { callerOf, type TestEnvironment } from "../../support/test-environment.ts"
import { shares } from "../../support/user-modules.ts"
import { createAnna, createRobot, machine, openUserWorld } from "../user/household.ts"

let world: TestEnvironment
beforeEach(async () => {
  world = await openUserWorld()
  await createRobot(world.cx())
})
afterEach(() => world.close())

const sharesOf = (version: string) =>
  shares.filter(({ service }) => service.typeName.includes(version))
const [v2, v1] = [sharesOf(".v2."), sharesOf(".v1.")]
const day = 86_400_000
const inOneDay = () => timestampFromMs(world.clock.now() + day)
const m1 = { userId: "m1" }

const asAnna = () => world.cx({ caller: callerOf("anna") })

const isSecretValid = (secret: string) => {
  const found = findMachine(world.cx(), "m1")
  return found !== undefined && isMachineSecret(world.cx(), "m1", { state: found.state, secret })
}

describe("a service account's secret", () => {
  const addSecret = async () => (await callOperation(v2, "addSecret", asAnna(), m1)).clientSecret

  test("is returned once, and only its hash is stored", async () => {
    const secret = await addSecret()
    expect(secret).toMatch(/^[\w-]{64}$/)
    expect([isSecretValid(secret), isSecretValid(`${secret}A`), isSecretValid("")]).toEqual([
      true,
      false,
      false,
    ])
    expect(JSON.stringify(await world.store.log.read(0, 100))).not.toContain(secret)
  })

  test("is replaced by the next one, and erased", async () => {
    const [old, next] = [await addSecret(), await addSecret()]
    expect([isSecretValid(old), isSecretValid(next)]).toEqual([false, true])
    await callOperation(v2, "removeSecret", asAnna(), m1)
    expect(isSecretValid(next)).toBe(false)
    expect(JSON.stringify(await world.store.log.read(0, 100))).not.toContain('hashedSecret":"')
  })

  test("is removed once in v2 and rejected the second time in v1", async () => {
    await addSecret()
    const { deletionDate } = await callOperation(v2, "removeSecret", asAnna(), m1)
    expect(timestampMs(deletionDate)).toBe(world.clock.now())
    expect((await callOperation(v2, "removeSecret", asAnna(), m1)).deletionDate).toBeUndefined()
    await expect(callOperation(v1, "removeMachineSecret", asAnna(), m1)).rejects.toMatchObject({
      code: "not_found",
    })
  })

  test("is used with the user name as client ID, which v1 returns with it", async () => {
    const { clientId, clientSecret } = await callOperation(
      v1,
      "generateMachineSecret",
      asAnna(),
      m1,
    )
    expect(clientId).toBe("robot")
    expect(isSecretValid(clientSecret)).toBe(true)
    await callOperation(v1, "removeMachineSecret", asAnna(), m1)
    expect(isSecretValid(clientSecret)).toBe(false)
  })

  test("is reported as set in both versions", async () => {
    const seen = async () => {
      const two = await callOperation(v2, "getUserByID", world.cx(), m1)
      const one = await callOperation(v1, "getUserByID", world.cx(), { id: "m1" })
      return [two.user.type.value.hasSecret, one.user.type.value.hasSecret]
    }
    expect(await seen()).toEqual([false, false])
    await addSecret()
    expect(await seen()).toEqual([true, true])
    await callOperation(v2, "removeSecret", asAnna(), m1)
    expect(await seen()).toEqual([false, false])
  })
})

const addToken = (request: object = {}) =>
  callOperation(v2, "addPersonalAccessToken", asAnna(), {
    ...m1,
    expirationDate: inOneDay(),
    ...request,
  })

describe("a personal access token", () => {
  test("is returned once and not stored", async () => {
    const made = await addToken()
    expect(made.token).toMatch(/^latchkey_pat_[\w-]+\.[\w-]+$/)
    expect(JSON.stringify(await world.store.log.read(0, 100))).not.toContain(made.token.slice(20))
    expect(parsePersonalToken(world.cx(), made.token)).toMatchObject({
      id: made.tokenId,
      userId: "m1",
      expires: world.clock.now() + day,
      scopes: ["openid", "profile", "urn:core:iam:org:project:id:core:aud"],
    })
  })

  test("is listed by its name if it has one", async () => {
    const add = (name?: string) =>
      callOperation(v2, "addPersonalAccessToken", asAnna(), {
        ...m1,
        expirationDate: inOneDay(),
        name,
      })
    const [named, nameless] = [await add(" Nightly copy "), await add()]
    const { result } = await callOperation(v2, "listPersonalAccessTokens", asAnna(), {})
    expect(Object.fromEntries(result.map(({ id, name }: any) => [id, name]))).toEqual({
      [named.tokenId]: "Nightly copy",
      [nameless.tokenId]: "",
    })
    for (const name of ["a\nb", "x".repeat(201)])
      await expect(add(name)).rejects.toMatchObject({ id: "user.name_invalid" })
  })

  test("is accepted only in its exact spelling and on its instance", async () => {
    const made = await addToken()
    const read = (text: string, instance = "i1") => parsePersonalToken(world.cx({ instance }), text)
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

  test("is invalid once it or its user is removed", async () => {
    const [one, two] = [await addToken(), await addToken()]
    const request = { ...m1, tokenId: one.tokenId }
    const { deletionDate } = await callOperation(v2, "removePersonalAccessToken", asAnna(), request)
    expect(timestampMs(deletionDate)).toBe(world.clock.now())
    expect(parsePersonalToken(world.cx(), one.token)).toBeUndefined()
    expect(parsePersonalToken(world.cx(), two.token)).toBeDefined()
    for (const tokenId of [one.tokenId, "__proto__", "constructor"]) {
      const again = { ...m1, tokenId }
      const answer = await callOperation(v2, "removePersonalAccessToken", asAnna(), again)
      expect(answer.deletionDate, tokenId).toBeUndefined()
      await expect(
        callOperation(v1, "removePersonalAccessToken", asAnna(), again),
      ).rejects.toMatchObject({
        code: "not_found",
      })
    }
    await removeUser(world.cx(), "m1")
    expect(parsePersonalToken(world.cx(), two.token)).toBeUndefined()
  })

  test("can't be removed through another user", async () => {
    await createRobot(world.cx(), { userName: "drone" }, "m2")
    const { tokenId, token: text } = await addToken({ userId: "m2" })
    await callOperation(v2, "removePersonalAccessToken", asAnna(), { ...m1, tokenId })
    expect(parsePersonalToken(world.cx(), text)).toBeDefined()
    const request = { ...m1, tokenId }
    await expect(
      callOperation(v1, "getPersonalAccessTokenByIDs", world.cx(), request),
    ).rejects.toMatchObject({ code: "not_found" })
  })

  test.each([
    ["without an end, in v2", { expirationDate: undefined }],
    ["with an end that has passed", { expirationDate: timestampFromMs(0) }],
  ])("is rejected %s", async (_, request) => {
    await expect(addToken(request)).rejects.toMatchObject({ code: "invalid_argument" })
  })

  test("never expires if v1 sets no expiry", async () => {
    const made = await callOperation(v1, "addPersonalAccessToken", asAnna(), m1)
    expect(parsePersonalToken(world.cx(), made.token)?.expires).toBe(neverExpires)
    const asked = { ...m1, tokenId: made.tokenId }
    const { token: shown } = await callOperation(
      v1,
      "getPersonalAccessTokenByIDs",
      world.cx(),
      asked,
    )
    expect(shown).toMatchObject({ id: made.tokenId, scopes: expect.arrayContaining(["openid"]) })
  })

  test("is one of at most a hundred", async () => {
    for (let at = 0; at < 100; at++) await addToken()
    await expect(addToken()).rejects.toMatchObject({ code: "resource_exhausted" })
  })

  test("is listed by filter and scope, in v1 by its user", async () => {
    await createRobot(world.cx(), { userName: "drone", orgId: "org2" }, "m2")
    const first = await addToken()
    world.clock.advance(10)
    await addToken()
    const other = await addToken({ userId: "m2" })
    const list = async (request: object, scope?: object) => {
      const cx = world.cx(
        scope && { scope: { all: false, orgs: [], projects: [], grants: [], ...scope } },
      )
      const { result } = await callOperation(v2, "listPersonalAccessTokens", cx, request)
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
    const v1list = await callOperation(v1, "listPersonalAccessTokens", world.cx(), m1)
    expect(v1list.details.totalResult).toBe(2n)
    expect(JSON.stringify(v1list.result, bigints)).not.toContain("latchkey_pat_")
  })
})

const bigints = (_: string, value: unknown) => (typeof value === "bigint" ? `${value}` : value)

describe("keys in v1", () => {
  const add = (request: object = {}) =>
    callOperation(v1, "addMachineKey", asAnna(), { ...m1, type: 1, ...request })

  test("are the same keys: created, returned, listed, and removed", async () => {
    const { keyId, keyDetails } = await add()
    expect(JSON.parse(Buffer.from(keyDetails).toString())).toMatchObject({ keyId, userId: "m1" })
    const request = { ...m1, keyId }
    const { key } = await callOperation(v1, "getMachineKeyByIDs", world.cx(), request)
    expect(key).toMatchObject({ id: keyId, type: 1 })
    expect(timestampMs(key.expirationDate)).toBe(neverExpires)
    const { result } = await callOperation(v1, "listMachineKeys", world.cx(), m1)
    expect(result).toHaveLength(1)
    await callOperation(v1, "removeMachineKey", asAnna(), request)
    for (const name of ["getMachineKeyByIDs", "removeMachineKey"]) {
      const again = callOperation(v1, name, asAnna(), request)
      await expect(again, name).rejects.toMatchObject({ code: "not_found" })
    }
  })

  test("have a type", async () => {
    await expect(add({ type: 0 })).rejects.toMatchObject({ code: "invalid_argument" })
  })
})

/** All operations that let someone act as a service account. */
const credentialOperations: readonly (readonly [string, typeof v1, object])[] = [
  ["addSecret", v2, {}],
  ["addPersonalAccessToken", v2, {}],
  ["generateMachineSecret", v1, {}],
  ["addMachineKey", v1, { type: 1 }],
  ["addPersonalAccessToken", v1, {}],
]
describe.each(credentialOperations)("%s", (name, share, more) => {
  const give = (userId: string) =>
    callOperation(share, name, asAnna(), { userId, expirationDate: inOneDay(), ...more })

  test("requires an existing service account", async () => {
    await createAnna(world.cx())
    await expect(give("u1")).rejects.toMatchObject({ id: "user.not_machine" })
    await expect(give("nobody")).rejects.toMatchObject({ code: "not_found" })
  })
})

describe("names, IDs, and client IDs of service accounts share one namespace:", () => {
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

  test("a user named like its ID keeps the ID when it is renamed", async () => {
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

  test("human users are not clients", async () => {
    await createAnna(world.cx())
    for (const id of ["u1", "anna"]) expect(findMachine(world.cx(), id), id).toBeUndefined()
  })
})
