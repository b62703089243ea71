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
import { challengeKey, findKeyOwner } from "../../../src/domain/factor/key/webauthn-check.ts"
import { keysOf } from "../../../src/domain/factor/ready.ts"
import { addInstance } from "../../../src/domain/instance/index.ts"
import { createUser } from "../../../src/domain/user/create.ts"
import { removeUser } from "../../../src/domain/user/index.ts"
import { user } from "../../../src/domain/user-model/model.ts"
import { Fault } from "../../../src/kernel/fault.ts"
import { type Authenticator, createKey } from "../../support/authenticator.ts"
import type { TestEnvironment } from "../../support/test-environment.ts"
import { createAnna, human, openUserWorld, provision } from "../user/household.ts"

const origin = "http://localhost:8080"

let world: TestEnvironment
beforeEach(async () => {
  world = await openUserWorld()
  const password = await createPassword("Correct-Horse-7", { names: [] })
  await createAnna(world.cx(), { password })
  await createUser(world.cx(), "u2", human({ userName: "bert", password }))
})
afterEach(() => world.close())

const keysOfUser = (userId = "u1") => keysOf(world.store.state(world.cx(), user, userId))

type KeyKind = "passkey" | "u2f"

async function registerKey(
  kind: KeyKind = "passkey",
  userId = "u1",
  count = 0,
): Promise<Authenticator> {
  const cx = world.cx()
  const { tokenId, options } = await beginKey(cx, userId, { kind })
  const key = createKey(options, { origin, count })
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

/** Registers a key from a browser, and returns its name. */
async function registeredName(userAgent: string, input: { aaguid?: string; name?: string } = {}) {
  const { aaguid, name = "" } = input
  const cx = world.cx({ from: { address: "192.0.2.1", userAgent } })
  const { tokenId, options } = await beginKey(cx, "u1", { kind: "passkey" })
  const key = createKey(options, { origin, ...(aaguid && { aaguid }) })
  await finishKey(cx, "u1", { kind: "passkey", tokenId, credential: key.creation, name })
  return keysOfUser().find(({ id }) => id === tokenId)?.name
}

type ProofOptions = {
  readonly userId?: string
  readonly userVerification?: "required" | "discouraged"
  readonly manner?: Partial<Parameters<Authenticator["assertion"]>[1]>
}

/** Requests a proof and returns the result. */
async function proveKey(key: Authenticator, proof: ProofOptions = {}) {
  const { userId = "u1", userVerification = "required", manner } = proof
  const { options, challenge } = challengeKey(world.cx(), { userId, userVerification })
  const given = JSON.stringify(key.assertion(options, { origin, ...manner }))
  return checkKey({ userId, given, challenge })
}

async function checkKey(request: Parameters<typeof factorChecks.webauthn>[1]) {
  const cx = world.cx()
  try {
    const admit = await factorChecks.webauthn(cx, request)
    return (await cx.store.transact(cx, admit)).value
  } catch (cause) {
    if (cause instanceof Fault) return cause.id
    throw cause
  }
}

const accepted = { isRight: true, methods: ["pop", "user"], isUserVerified: true }
const rejected = { isRight: false }

describe("a passkey", () => {
  test("is registered, identifies its user, and authenticates them", async () => {
    const key = await registerKey()
    expect(keysOfUser()).toMatchObject([{ kind: "passkey", name: "Key", rpId: "localhost" }])
    expect(await proveKey(key)).toEqual(accepted)
    const { options } = challengeKey(world.cx(), { userVerification: "required" })
    expect(options.allowCredentials).toEqual([])
    const given = JSON.stringify(key.assertion(options, { origin }))
    expect(findKeyOwner(world.cx(), given)).toBe("u1")
    expect(findKeyOwner(world.cx(), "{}")).toBeUndefined()
  })

  test("can be renamed to a valid name, and still works", async () => {
    const key = await registerKey()
    const [{ id: tokenId = "" } = {}] = keysOfUser()
    const rename = (name: string) => renamePasskey(world.cx(), "u1", { tokenId, name })
    await rename("  My phone ")
    expect(keysOfUser()).toMatchObject([{ name: "My phone" }])
    expect(await proveKey(key)).toEqual(accepted)
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
  ])("is named by %s", async (_, agent, input, name) => {
    expect(await registeredName(agent, input)).toBe(name)
  })

  const hour = 3_600_000
  const uses = async () =>
    (await world.store.log.read(0, 1000)).filter(({ type }) => type.endsWith("signcount.changed"))

  test("stores its last use, at most once an hour", async () => {
    const created = world.clock.now()
    const key = await registerKey()
    expect(keysOfUser()).toMatchObject([{ created }])
    expect(keysOfUser()[0]).not.toHaveProperty("used")
    world.clock.advance(2 * hour)
    const first = world.clock.now()
    expect(await proveKey(key)).toEqual(accepted)
    world.clock.advance(hour - 1)
    expect(await proveKey(key)).toEqual(accepted)
    expect(keysOfUser()).toMatchObject([{ created, used: first }])
    expect(await uses()).toHaveLength(1)
    world.clock.advance(1)
    expect(await proveKey(key)).toEqual(accepted)
    expect(keysOfUser()).toMatchObject([{ created, used: world.clock.now() }])
    expect(await uses()).toHaveLength(2)
  })

  test("has no last use after a failed proof", async () => {
    const key = await registerKey()
    expect(await proveKey(key, { manner: { rpId: "evil.example" } })).toEqual(rejected)
    expect(keysOfUser()[0]).not.toHaveProperty("used")
  })

  test("must verify the user if that is required", async () => {
    const key = await registerKey()
    expect(await proveKey(key, { manner: { isVerified: false } })).toEqual(rejected)
    const asked = { userVerification: "discouraged", manner: { isVerified: false } } as const
    expect(await proveKey(key, asked)).toEqual({ ...accepted, isUserVerified: false })
  })

  test.each([
    ["from a page of others", { origin: "https://evil.example" }],
    ["made for another party", { rpId: "evil.example" }],
  ])("does not authenticate %s", async (_, manner) => {
    expect(await proveKey(await registerKey(), { manner })).toEqual(rejected)
  })

  test("answers a challenge once, and not after ten minutes", async () => {
    const key = await registerKey()
    const { options, challenge } = challengeKey(world.cx(), {
      userId: "u1",
      userVerification: "required",
    })
    const given = JSON.stringify(key.assertion(options, { origin }))
    const asked = { userId: "u1", given, challenge }
    const all = await Promise.all(Array.from({ length: 5 }, () => checkKey(asked)))
    expect(all.filter((each) => typeof each === "object" && each.isRight)).toHaveLength(1)
    expect(await checkKey(asked)).toEqual(rejected)
    const late = challengeKey(world.cx(), { userId: "u1", userVerification: "required" })
    world.clock.advance(600_000)
    const again = JSON.stringify(key.assertion(late.options, { origin }))
    expect(await checkKey({ userId: "u1", given: again, challenge: late.challenge })).toEqual(
      rejected,
    )
    expect(await checkKey({ userId: "u1", given: again })).toEqual(rejected)
  })

  test("does not work for another user or in another instance", async () => {
    const theirs = await registerKey("passkey", "u2")
    await registerKey()
    expect(await proveKey(theirs)).toEqual(rejected)
    const { options, challenge } = challengeKey(world.cx(), {
      userId: "u1",
      userVerification: "required",
    })
    const given = JSON.stringify(theirs.assertion(options, { origin }))
    expect(await checkKey({ userId: "u1", given, challenge })).toEqual(rejected)
    const i2 = world.cx({ instance: "i2" })
    await provision(i2)
    expect(findKeyOwner(i2, given)).toBeUndefined()
    const admit = await factorChecks.webauthn(i2, { userId: "u2", given, challenge })
    expect((await i2.store.transact(i2, admit)).value).toEqual(rejected)
  })

  test("can't be registered twice, even by another user", async () => {
    const cx = world.cx()
    const { tokenId, options } = await beginKey(cx, "u1", { kind: "passkey" })
    const key = createKey(options, { origin })
    const given = { kind: "passkey", tokenId, credential: key.creation, name: "" } as const
    await finishKey(cx, "u1", given)
    await expect(finishKey(cx, "u1", given)).rejects.toThrow("key not found")
    expect(keysOfUser()).toHaveLength(1)
  })

  test("is not registered from another origin, too late, or instead of a newer one", async () => {
    const cx = world.cx()
    const begin = () => beginKey(cx, "u1", { kind: "passkey" })
    const finish = (tokenId: string, credential: object, userId = "u1") =>
      finishKey(cx, userId, { kind: "passkey", tokenId, credential, name: "" })
    const first = await begin()
    const second = await begin()
    await expect(
      finish(first.tokenId, createKey(first.options, { origin }).creation),
    ).rejects.toThrow("key not found")
    const { tokenId, options } = second
    const evil = { origin: "https://evil.example" }
    for (const wrong of [
      createKey(options, evil).creation,
      createKey(first.options, { origin }).creation,
      createKey(options, { origin, rpId: "evil.example" }).creation,
      createKey(options, { origin, isVerified: false }).creation,
      {},
    ]) {
      await expect(finish(tokenId, wrong)).rejects.toThrow("does not match this registration")
    }
    await expect(finish(tokenId, createKey(options, { origin }).creation, "u2")).rejects.toThrow(
      "key not found",
    )
    world.clock.advance(600_000)
    await expect(finish(tokenId, createKey(options, { origin }).creation)).rejects.toThrow(
      "the registration has expired",
    )
  })

  test("can be registered again after it or its user is removed", async () => {
    const key = await registerKey()
    const given = JSON.stringify({ id: key.credentialId, response: {} })
    const holder = () =>
      world.store.log.holder("i1", "webauthn_credential", key.credentialId, world.clock.now())?.id
    expect(holder()).toBe("u1")
    await removeKey(world.cx(), "u1", { kind: "passkey", tokenId: keysOfUser()[0]?.id ?? "" })
    expect(holder()).toBeUndefined()
    expect(findKeyOwner(world.cx(), given)).toBeUndefined()
    expect(await proveKey(key)).toEqual(rejected)
    const other = await registerKey("passkey", "u2")
    await removeUser(world.cx(), "u2")
    expect(
      world.store.log.holder("i1", "webauthn_credential", other.credentialId, 0),
    ).toBeUndefined()
  })
})

describe("a security key", () => {
  test("is a copy if its counter does not increase", async () => {
    const key = await registerKey("u2f", "u1", 5)
    const used = (count: number) =>
      proveKey(key, { userVerification: "discouraged", manner: { count, isVerified: false } })
    expect(await used(6)).toMatchObject({ isRight: true, isUserVerified: false })
    expect(await used(6)).toEqual(rejected)
    expect(await used(3)).toEqual(rejected)
    expect(await used(0)).toEqual(rejected)
    expect(await used(9)).toMatchObject({ isRight: true })
  })

  test("can't be registered on an instance without a domain", async () => {
    const cx = world.cx({ instance: "numeric" })
    await cx.store.transact(cx, (tx) =>
      addInstance(tx, { name: "N", publicUrl: "http://192.0.2.1:8080" }),
    )
    expect(() => challengeKey(cx, { userVerification: "discouraged" })).toThrow("not an IP address")
  })
})

describe("a registration link", () => {
  test("works once: for the first of two browsers that completes it", async () => {
    const cx = world.cx()
    const { codeId, code } = await createPasskeyLink(cx, "u1", { returned: true })
    expect(code).toMatch(/^\w{12}$/)
    const link = { codeId, code }
    const begin = (text: typeof link) => beginKey(cx, "u1", { kind: "passkey", link: text })
    await expect(begin({ codeId, code: "wrong" })).rejects.toThrow(
      "the code is invalid or has expired",
    )
    await expect(begin({ codeId: "0", code })).rejects.toThrow("the code is invalid or has expired")
    await expect(beginKey(cx, "u2", { kind: "passkey", link })).rejects.toThrow(
      "the code is invalid or has expired",
    )
    const first = await begin(link)
    const finish = ({ tokenId, options }: typeof first) =>
      finishKey(cx, "u1", {
        kind: "passkey",
        tokenId,
        credential: createKey(options, { origin }).creation,
        name: "",
      })
    const second = await begin(link)
    await expect(finish(first)).rejects.toThrow("key not found")
    await finish(second)
    await expect(begin(link)).rejects.toThrow("the code is invalid or has expired")
    expect(keysOfUser()).toHaveLength(1)
  })

  test("expires after an hour or with a newer one", async () => {
    const cx = world.cx()
    const link = await createPasskeyLink(cx, "u1", { returned: true })
    const newer = await createPasskeyLink(cx, "u1", { returned: true })
    await expect(beginKey(cx, "u1", { kind: "passkey", link })).rejects.toThrow(
      "the code is invalid or has expired",
    )
    world.clock.advance(3_600_000)
    await expect(beginKey(cx, "u1", { kind: "passkey", link: newer })).rejects.toThrow(
      "the code is invalid or has expired",
    )
  })
})
