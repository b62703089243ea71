import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto"
import { SignJWT } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { removeServiceKey } from "../../src/domain/service-account/service-key.ts"
import { findApiCaller, issuer, openProvider, type Provider, sendTokenRequest } from "./provider.ts"

const grant_type = "urn:ietf:params:oauth:grant-type:jwt-bearer"

let provider: Provider
let key: KeyObject
let userId = ""
let keyId = ""
beforeAll(async () => {
  provider = await openProvider()
  const file = JSON.parse(provider.setup.serviceKey ?? "")
  key = createPrivateKey(file.key)
  userId = file.userId
  keyId = file.keyId
})
afterAll(() => provider.close())

type Changes = {
  readonly claims?: Readonly<Record<string, unknown>>
  readonly header?: { readonly kid?: string; readonly alg?: string }
  readonly key?: KeyObject | Uint8Array
}

const assertionOf = (changes: Changes = {}) => {
  const now = Math.floor(provider.clock.now() / 1000)
  const claims = { iss: userId, sub: userId, aud: issuer, iat: now, exp: now + 300 }
  const kept = Object.entries({ ...claims, ...changes.claims }).filter(
    ([, value]) => value !== null,
  )
  return new SignJWT(Object.fromEntries(kept))
    .setProtectedHeader({ alg: "RS256", kid: keyId, ...changes.header })
    .sign(changes.key ?? key)
}

const ask = async (changes: Changes = {}, scope = "openid") =>
  sendTokenRequest(provider, { grant_type, assertion: await assertionOf(changes), scope })

const day = 86_400_000

const coreScope = (id: string) => `openid urn:core:iam:org:project:id:${id}:aud`

describe("a service account's assertion (RFC 7523)", () => {
  test("gets an access token and an id_token", async () => {
    const { status, answer } = await ask()
    expect(status).toBe(200)
    expect(answer).toMatchObject({ token_type: "Bearer", scope: "openid" })
    expect(Object.keys(answer).sort()).toEqual(
      ["access_token", "expires_in", "id_token", "scope", "token_type"].sort(),
    )
  })

  test("gives access to the management API with our project as audience only", async () => {
    const without = await ask()
    await expect(findApiCaller(provider, String(without.answer.access_token))).rejects.toThrow(
      /the access token is not valid for this API/,
    )
    for (const id of ["core", provider.ownProjectId]) {
      const { answer } = await ask({}, coreScope(id))
      expect(await findApiCaller(provider, String(answer.access_token))).toEqual({
        kind: "user",
        userId,
        orgId: provider.setup.orgId,
        clientId: userId,
      })
    }
    const elsewhere = await ask({}, coreScope("12345"))
    await expect(findApiCaller(provider, String(elsewhere.answer.access_token))).rejects.toThrow(
      /the access token is not valid for this API/,
    )
  })

  test("accepts the token endpoint as audience, and several audiences", async () => {
    expect((await ask({ claims: { aud: `${issuer}/oauth/v2/token` } })).status).toBe(200)
    expect((await ask({ claims: { aud: ["other", issuer] } })).status).toBe(200)
    expect((await ask({ claims: { aud: `${issuer}/` } })).status).toBe(200)
  })

  const seconds = () => Math.floor(provider.clock.now() / 1000)
  const bad: Readonly<Record<string, () => Changes>> = {
    "another audience": () => ({ claims: { aud: "https://other.example" } }),
    "no audience": () => ({ claims: { aud: null } }),
    "no expiry": () => ({ claims: { exp: null } }),
    "an expiry in the past": () => ({ claims: { exp: seconds() - 2 } }),
    "no time of issue": () => ({ claims: { iat: null } }),
    "an age over an hour": () => ({ claims: { iat: seconds() - 3602, exp: seconds() + 60 } }),
    "a time of issue to come": () => ({ claims: { iat: seconds() + 61 } }),
    "a time before which it is nothing": () => ({ claims: { nbf: seconds() + 61 } }),
    "another subject": () => ({ claims: { sub: provider.setup.ownerId } }),
    "another issuer": () => ({
      claims: { iss: provider.setup.ownerId, sub: provider.setup.ownerId },
    }),
    "an unknown key": () => ({ header: { kid: "1" } }),
    "the browser created no key": () => ({ header: { kid: "" } }),
    "a foreign key": () => ({
      key: generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey,
    }),
    // RFC 8725 §2.1: the public key as an HMAC secret.
    "a symmetric algorithm": () => ({
      header: { alg: "HS256" },
      key: new TextEncoder().encode("the public key, which everybody may know"),
    }),
  }
  test.each(Object.entries(bad))("is rejected with %s", async (_, changes) => {
    const { status, answer } = await ask(changes())
    expect([status, answer.error]).toEqual([400, "invalid_grant"])
  })

  test("is accepted once, also when a clock was ahead meanwhile and is corrected", async () => {
    const assertion = await assertionOf({ claims: { jti: "ahead" } })
    const used = () => sendTokenRequest(provider, { grant_type, assertion, scope: "openid" })
    expect((await used()).status).toBe(200)
    provider.clock.advance(day)
    const now = provider.clock.now()
    const limits = { now, auditedBefore: 0, position: Number.MAX_SAFE_INTEGER }
    const pruned = await provider.store.prune({ ...limits, stopped: () => false })
    expect(pruned.claims).toBeGreaterThan(0)
    provider.clock.advance(-day)
    expect((await used()).answer.error).toBe("invalid_grant")
    provider.clock.advance(2000)
    expect((await ask({ claims: { jti: "fresh" } })).status).toBe(200)
    provider.clock.advance(day)
  })

  test("is rejected unsigned, or when it is not a JWT", async () => {
    const [, body] = (await assertionOf()).split(".")
    const header = Buffer.from(JSON.stringify({ alg: "none", kid: keyId })).toString("base64url")
    for (const assertion of [`${header}.${body}.`, "a.b.c", "nonsense"]) {
      const { answer } = await sendTokenRequest(provider, {
        grant_type,
        assertion,
        scope: "openid",
      })
      expect(answer.error).toBe("invalid_grant")
    }
  })

  test("is accepted once if it has a jti", async () => {
    const assertion = await assertionOf({ claims: { jti: "once" } })
    const all = await Promise.all(
      Array.from({ length: 10 }, () =>
        sendTokenRequest(provider, { grant_type, assertion, scope: "openid" }),
      ),
    )
    expect(all.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(400)])
  })

  test("can have fractional times, and doesn't break other assertions (RFC 7519 §2)", async () => {
    const now = provider.clock.now() / 1000
    const odd = { iat: now - 0.000_123_4, exp: now + 300.000_567_8, jti: "fraction" }
    const [answer, ...others] = await Promise.all([
      ask({ claims: odd }),
      ...["one", "two", "three"].map((jti) => ask({ claims: { jti } })),
    ])
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(answer?.status).toBe(200)
    expect((await ask({ claims: odd })).status).toBe(400)
  })

  test("requires valid client credentials, or none (RFC 7523 §3.1)", async () => {
    const fields = { grant_type, assertion: await assertionOf(), scope: "openid" }
    const web = await provider.addClient()
    const right = await sendTokenRequest(provider, fields, `${web.id}:${web.secret}`)
    expect(right.status).toBe(200)
    const type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    const wrong = [
      sendTokenRequest(provider, fields, `${web.id}:wrong`),
      sendTokenRequest(provider, { ...fields, client_id: web.id, client_secret: "wrong" }),
      sendTokenRequest(provider, { ...fields, client_assertion: "x", client_assertion_type: type }),
    ]
    for (const { status, answer } of await Promise.all(wrong)) {
      expect([status, answer.error]).toEqual([401, "invalid_client"])
    }
  })

  test("requires a scope, and is rejected once its key is removed", async () => {
    const assertion = await assertionOf()
    const none = await sendTokenRequest(provider, { grant_type, assertion })
    expect(none.answer.error).toBe("invalid_request")
    const before = await ask({}, coreScope("core"))
    await removeServiceKey(provider.cx(), userId, keyId)
    expect((await ask()).answer.error).toBe("invalid_grant")
    const token = String(before.answer.access_token)
    await expect(findApiCaller(provider, token)).rejects.toThrow(
      /the access token is invalid or has expired/,
    )
  })
})
