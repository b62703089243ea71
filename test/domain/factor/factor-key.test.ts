import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createPassword } from "../../../src/domain/credential/commands.ts"
import { factorChecks } from "../../../src/domain/factor/check.ts"
import {
  beginKey,
  finishKey,
  removeKey,
  renamePasskey,
} from "../../../src/domain/factor/key/key.ts"
import { createPasskeyLink } from "../../../src/domain/factor/key/link.ts"
import { challengeKey, keyHolder } from "../../../src/domain/factor/key/webauthn-check.ts"
import { keysOf } from "../../../src/domain/factor/ready.ts"
import { addInstance } from "../../../src/domain/instance/index.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { removeUser } from "../../../src/domain/user/index.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { Fault } from "../../../src/kernel/fault.ts"
import { type Authenticator, makeKey } from "../../support/authenticator.ts"
import type { World } from "../../support/world.ts"
import { anna, human, openHousehold, provision } from "../user/household.ts"

const origin = "http://localhost:8080"

let world: World
beforeEach(async () => {
  world = await openHousehold()
  const password = await createPassword("Correct-Horse-7", { names: [] })
  await anna(world.cx(), { password })
  await createUser(world.cx(), "u2", human({ userName: "bert", password }))
})
afterEach(() => world.close())

const keys = (userId = "u1") => keysOf(world.store.state(world.cx(), user, userId))

type Kind = "passkey" | "u2f"

async function register(kind: Kind = "passkey", userId = "u1", count = 0): Promise<Authenticator> {
  const cx = world.cx()
  const { tokenId, options } = await beginKey(cx, userId, { kind })
  const key = makeKey(options, { origin, count })
  await finishKey(cx, userId, { kind, tokenId, credential: key.creation, name: "Key" })
  return key
}

const agents = {
  iphone:
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like " +
    "Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
  mac:
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) " +
    "Chrome/131.0.0.0 Safari/537.36",
} as const

/** Registers a key from a browser, and returns what it is called. */
async function named(userAgent: string, given: { aaguid?: string; name?: string } = {}) {
  const { aaguid, name = "" } = given
  const cx = world.cx({ from: { address: "192.0.2.1", userAgent } })
  const { tokenId, options } = await beginKey(cx, "u1", { kind: "passkey" })
  const key = makeKey(options, { origin, ...(aaguid && { aaguid }) })
  await finishKey(cx, "u1", { kind: "passkey", tokenId, credential: key.creation, name })
  return keys().find(({ id }) => id === tokenId)?.name
}

type Proof = {
  readonly userId?: string
  readonly userVerification?: "required" | "discouraged"
  readonly manner?: Partial<Parameters<Authenticator["assertion"]>[1]>
}

/** Asks for a proof, and answers how it ended. */
async function prove(key: Authenticator, proof: Proof = {}) {
  const { userId = "u1", userVerification = "required", manner } = proof
  const { options, challenge } = challengeKey(world.cx(), { userId, userVerification })
  const given = JSON.stringify(key.assertion(options, { origin, ...manner }))
  return checked({ userId, given, challenge })
}

async function checked(asked: Parameters<typeof factorChecks.webauthn>[1]) {
  const cx = world.cx()
  try {
    const admit = await factorChecks.webauthn(cx, asked)
    return (await cx.store.transact(cx, admit)).value
  } catch (cause) {
    if (cause instanceof Fault) return cause.id
    throw cause
  }
}

const isIn = { isRight: true, methods: ["pop", "user"], isUserVerified: true }
const isOut = { isRight: false }

describe("a passkey", () => {
  test("is registered, tells whose it is, and proves them", async () => {
    const key = await register()
    expect(keys()).toMatchObject([{ kind: "passkey", name: "Key", rpId: "localhost" }])
    expect(await prove(key)).toEqual(isIn)
    const { options } = challengeKey(world.cx(), { userVerification: "required" })
    expect(options.allowCredentials).toEqual([])
    const given = JSON.stringify(key.assertion(options, { origin }))
    expect(keyHolder(world.cx(), given)).toBe("u1")
    expect(keyHolder(world.cx(), "{}")).toBeUndefined()
  })

  test("is called otherwise by a name that is one, and proves the same", async () => {
    const key = await register()
    const [{ id: tokenId = "" } = {}] = keys()
    const rename = (name: string) => renamePasskey(world.cx(), "u1", { tokenId, name })
    await rename("  My phone ")
    expect(keys()).toMatchObject([{ name: "My phone" }])
    expect(await prove(key)).toEqual(isIn)
    const { version } = await rename("My phone")
    expect((await rename("My phone")).version).toBe(version)
    for (const name of ["", " ", "a\u0000b", "x".repeat(201)]) {
      await expect(rename(name)).rejects.toMatchObject({ code: "invalid_argument" })
    }
    const other = renamePasskey(world.cx(), "u2", { tokenId, name: "Mine" })
    await expect(other).rejects.toMatchObject({ id: "user.key_missing" })
  })

  test.each([
    ["its model", agents.mac, { aaguid: "bada5566-a7aa-401f-bd96-45619a55120d" }, "1Password"],
    [
      "a hardware model",
      agents.mac,
      { aaguid: "a25342c0-3cdc-4414-8e46-f4807fca511c" },
      "YubiKey 5 Series with NFC",
    ],
    ["the browser, without a model", agents.mac, {}, "Chrome on macOS"],
    [
      "the browser, with a model that is not known",
      agents.iphone,
      { aaguid: "11111111-2222-3333-4444-555555555555" },
      "Safari on iPhone",
    ],
    ["nothing, of a program that is no browser", "curl/8.5.0", {}, ""],
    ["the name that was given", agents.mac, { name: "My laptop" }, "My laptop"],
  ])("is named by %s", async (_, agent, given, name) => {
    expect(await named(agent, given)).toBe(name)
  })

  const hour = 3_600_000
  const uses = async () =>
    (await world.store.log.read(0, 1000)).filter(({ type }) => type.endsWith("signcount.changed"))

  test("stores when it was last used, once an hour at most", async () => {
    const created = world.clock.now()
    const key = await register()
    expect(keys()).toMatchObject([{ created }])
    expect(keys()[0]).not.toHaveProperty("used")
    world.clock.advance(2 * hour)
    const first = world.clock.now()
    expect(await prove(key)).toEqual(isIn)
    world.clock.advance(hour - 1)
    expect(await prove(key)).toEqual(isIn)
    expect(keys()).toMatchObject([{ created, used: first }])
    expect(await uses()).toHaveLength(1)
    world.clock.advance(1)
    expect(await prove(key)).toEqual(isIn)
    expect(keys()).toMatchObject([{ created, used: world.clock.now() }])
    expect(await uses()).toHaveLength(2)
  })

  test("that proves nothing was not used", async () => {
    const key = await register()
    expect(await prove(key, { manner: { rpId: "evil.example" } })).toEqual(isOut)
    expect(keys()[0]).not.toHaveProperty("used")
  })

  test("has to see who uses it where that is asked for", async () => {
    const key = await register()
    expect(await prove(key, { manner: { isVerified: false } })).toEqual(isOut)
    const asked = { userVerification: "discouraged", manner: { isVerified: false } } as const
    expect(await prove(key, asked)).toEqual({ ...isIn, isUserVerified: false })
  })

  test.each([
    ["from a page of others", { origin: "https://evil.example" }],
    ["made for another party", { rpId: "evil.example" }],
  ])("proves nothing %s", async (_, manner) => {
    expect(await prove(await register(), { manner })).toEqual(isOut)
  })

  test("answers a challenge once, and one of ten minutes ago no more", async () => {
    const key = await register()
    const { options, challenge } = challengeKey(world.cx(), {
      userId: "u1",
      userVerification: "required",
    })
    const given = JSON.stringify(key.assertion(options, { origin }))
    const asked = { userId: "u1", given, challenge }
    const all = await Promise.all(Array.from({ length: 5 }, () => checked(asked)))
    expect(all.filter((each) => typeof each === "object" && each.isRight)).toHaveLength(1)
    expect(await checked(asked)).toEqual(isOut)
    const late = challengeKey(world.cx(), { userId: "u1", userVerification: "required" })
    world.clock.advance(600_000)
    const again = JSON.stringify(key.assertion(late.options, { origin }))
    expect(await checked({ userId: "u1", given: again, challenge: late.challenge })).toEqual(isOut)
    expect(await checked({ userId: "u1", given: again })).toEqual(isOut)
  })

  test("of another person opens nothing, nor in another instance", async () => {
    const theirs = await register("passkey", "u2")
    await register()
    expect(await prove(theirs)).toEqual(isOut)
    const { options, challenge } = challengeKey(world.cx(), {
      userId: "u1",
      userVerification: "required",
    })
    const given = JSON.stringify(theirs.assertion(options, { origin }))
    expect(await checked({ userId: "u1", given, challenge })).toEqual(isOut)
    const i2 = world.cx({ instance: "i2" })
    await provision(i2)
    expect(keyHolder(i2, given)).toBeUndefined()
    const admit = await factorChecks.webauthn(i2, { userId: "u2", given, challenge })
    expect((await i2.store.transact(i2, admit)).value).toEqual(isOut)
  })

  test("can't be registered twice, be it by somebody else", async () => {
    const cx = world.cx()
    const { tokenId, options } = await beginKey(cx, "u1", { kind: "passkey" })
    const key = makeKey(options, { origin })
    const given = { kind: "passkey", tokenId, credential: key.creation, name: "" } as const
    await finishKey(cx, "u1", given)
    await expect(finishKey(cx, "u1", given)).rejects.toThrow("no such key")
    expect(keys()).toHaveLength(1)
  })

  test("is not taken from elsewhere, too late, or in the place of a newer one", async () => {
    const cx = world.cx()
    const begin = () => beginKey(cx, "u1", { kind: "passkey" })
    const finish = (tokenId: string, credential: object, userId = "u1") =>
      finishKey(cx, userId, { kind: "passkey", tokenId, credential, name: "" })
    const first = await begin()
    const second = await begin()
    await expect(
      finish(first.tokenId, makeKey(first.options, { origin }).creation),
    ).rejects.toThrow("no such key")
    const { tokenId, options } = second
    const evil = { origin: "https://evil.example" }
    for (const wrong of [
      makeKey(options, evil).creation,
      makeKey(first.options, { origin }).creation,
      makeKey(options, { origin, rpId: "evil.example" }).creation,
      makeKey(options, { origin, isVerified: false }).creation,
      {},
    ]) {
      await expect(finish(tokenId, wrong)).rejects.toThrow("not what was asked for")
    }
    await expect(finish(tokenId, makeKey(options, { origin }).creation, "u2")).rejects.toThrow(
      "no such key",
    )
    world.clock.advance(600_000)
    await expect(finish(tokenId, makeKey(options, { origin }).creation)).rejects.toThrow("too long")
  })

  test("is free for others when it, or its person, is removed", async () => {
    const key = await register()
    const given = JSON.stringify({ id: key.credentialId, response: {} })
    const holder = () =>
      world.store.log.holder("i1", "webauthn_credential", key.credentialId, world.clock.now())?.id
    expect(holder()).toBe("u1")
    await removeKey(world.cx(), "u1", { kind: "passkey", tokenId: keys()[0]?.id ?? "" })
    expect(holder()).toBeUndefined()
    expect(keyHolder(world.cx(), given)).toBeUndefined()
    expect(await prove(key)).toEqual(isOut)
    const other = await register("passkey", "u2")
    await removeUser(world.cx(), "u2")
    expect(
      world.store.log.holder("i1", "webauthn_credential", other.credentialId, 0),
    ).toBeUndefined()
  })
})

describe("a security key", () => {
  test("that counts back, or not on, is a copy", async () => {
    const key = await register("u2f", "u1", 5)
    const used = (count: number) =>
      prove(key, { userVerification: "discouraged", manner: { count, isVerified: false } })
    expect(await used(6)).toMatchObject({ isRight: true, isUserVerified: false })
    expect(await used(6)).toEqual(isOut)
    expect(await used(3)).toEqual(isOut)
    expect(await used(0)).toEqual(isOut)
    expect(await used(9)).toMatchObject({ isRight: true })
  })

  test("can't be made where the instance has no name", async () => {
    const cx = world.cx({ instance: "numeric" })
    await cx.store.transact(cx, (tx) =>
      addInstance(tx, { name: "N", publicUrl: "http://192.0.2.1:8080" }),
    )
    expect(() => challengeKey(cx, { userVerification: "discouraged" })).toThrow("numeric address")
  })
})

describe("a registration link", () => {
  test("lets in once: of two browsers the first that is done", async () => {
    const cx = world.cx()
    const { codeId, code } = await createPasskeyLink(cx, "u1", { returned: true })
    expect(code).toMatch(/^\w{12}$/)
    const link = { codeId, code }
    const begin = (given: typeof link) => beginKey(cx, "u1", { kind: "passkey", link: given })
    await expect(begin({ codeId, code: "wrong" })).rejects.toThrow("wrong")
    await expect(begin({ codeId: "0", code })).rejects.toThrow("wrong")
    await expect(beginKey(cx, "u2", { kind: "passkey", link })).rejects.toThrow("wrong")
    const first = await begin(link)
    const finish = ({ tokenId, options }: typeof first) =>
      finishKey(cx, "u1", {
        kind: "passkey",
        tokenId,
        credential: makeKey(options, { origin }).creation,
        name: "",
      })
    const second = await begin(link)
    await expect(finish(first)).rejects.toThrow("no such key")
    await finish(second)
    await expect(begin(link)).rejects.toThrow("wrong")
    expect(keys()).toHaveLength(1)
  })

  test("ends after an hour, and with a newer one", async () => {
    const cx = world.cx()
    const link = await createPasskeyLink(cx, "u1", { returned: true })
    const newer = await createPasskeyLink(cx, "u1", { returned: true })
    await expect(beginKey(cx, "u1", { kind: "passkey", link })).rejects.toThrow("wrong")
    world.clock.advance(3_600_000)
    await expect(beginKey(cx, "u1", { kind: "passkey", link: newer })).rejects.toThrow("wrong")
  })
})
