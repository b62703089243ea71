import { createHash } from "node:crypto"
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from "jose"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { updateApplication } from "../../src/domain/app/index.ts"
import { changeOidcSettings, type OidcSettings } from "../../src/domain/instance/index.ts"
import { activateWebKey, createWebKey } from "../../src/domain/key/commands.ts"
import { publicKeys, publishedSeconds } from "../../src/domain/key/index.ts"
import type { KeyKind } from "../../src/domain/key/model.ts"

import {
  authorizePath,
  browserOf,
  codeFields,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"

let provider: Provider
beforeEach(async () => {
  provider = await openProvider()
})
afterEach(() => provider.close())

async function addKey(kind: KeyKind): Promise<void> {
  const { id } = await createWebKey(provider.cx(), kind)
  provider.clock.advance(300_000)
  await activateWebKey(provider.cx(), id)
}

const changeSettings = (settings: Partial<OidcSettings>) =>
  changeOidcSettings(provider.cx(), "i1", { settings, isSigning: () => true })

/** The tokens of a user who signs in to a client. */
async function tokensFor(client: NewClient, changes: Readonly<Record<string, string>> = {}) {
  const at = await browserOf(provider).signIn(authorizePath(client.id, changes))
  const basic = `${client.id}:${client.secret}`
  const { answer } = await sendTokenRequest(provider, codeFields(responseOf(at).code ?? ""), basic)
  return answer
}

/** Verifies a signed token with our published keys only, as any client does. */
async function verifyToken(jwt: unknown) {
  const keys = createLocalJWKSet({
    keys: publicKeys(provider.cx()).map((key) => ({ ...key })),
  })
  const currentDate = new Date(provider.clock.now())
  return jwtVerify(String(jwt), keys, { currentDate })
}

const userinfo = async (token: unknown) =>
  (await provider.send("/oidc/v1/userinfo", { headers: { authorization: `Bearer ${token}` } }))
    .status

const kinds: readonly (readonly [string, KeyKind, string])[] = [
  ["RS256", { kind: "rsa", bits: 2048, hash: 256 }, "sha256"],
  ["RS384", { kind: "rsa", bits: 2048, hash: 384 }, "sha384"],
  ["RS512", { kind: "rsa", bits: 2048, hash: 512 }, "sha512"],
  ["ES256", { kind: "ecdsa", curve: "P-256" }, "sha256"],
  ["ES384", { kind: "ecdsa", curve: "P-384" }, "sha384"],
  ["ES512", { kind: "ecdsa", curve: "P-521" }, "sha512"],
  ["EdDSA", { kind: "ed25519" }, "sha512"],
]

describe.each(kinds)("%s", (alg, kind, digest) => {
  test("signs with the application's algorithm, and the matching hash", async () => {
    await addKey(kind)
    const tokens = { idTokenAlgorithm: alg, accessTokenAlgorithm: alg }
    const client = await provider.addClient({ tokenType: "jwt", tokens })
    const answer = await tokensFor(client)
    const { payload, protectedHeader } = await verifyToken(answer.id_token)
    expect(protectedHeader.alg).toBe(alg)
    const hash = createHash(digest).update(String(answer.access_token)).digest()
    const half = hash.subarray(0, hash.length / 2).toString("base64url")
    expect(payload.at_hash).toBe(half)
    expect((await verifyToken(answer.access_token)).protectedHeader).toMatchObject({
      alg,
      typ: "at+jwt",
    })
    expect(await userinfo(answer.access_token)).toBe(200)
  })
})

test("by default an id_token is RS256 and a JWT access token ES256", async () => {
  const answer = await tokensFor(await provider.addClient({ tokenType: "jwt" }))
  expect(decodeProtectedHeader(String(answer.id_token)).alg).toBe("RS256")
  expect(decodeProtectedHeader(String(answer.access_token)).alg).toBe("ES256")
})

test("the instance's settings apply if an application has none", async () => {
  await addKey({ kind: "ed25519" })
  await changeSettings({ idTokenAlgorithm: "EdDSA", accessTokenAlgorithm: "RS256" })
  const [plain, other] = [
    await provider.addClient({ tokenType: "jwt" }),
    await provider.addClient({ tokenType: "jwt", tokens: { idTokenAlgorithm: "ES256" } }),
  ]
  const answers = [await tokensFor(plain), await tokensFor(other)]
  expect(
    answers.map((each) => [
      decodeProtectedHeader(String(each.id_token)).alg,
      decodeProtectedHeader(String(each.access_token)).alg,
    ]),
  ).toEqual([
    ["EdDSA", "RS256"],
    ["ES256", "RS256"],
  ])
})

test("discovery lists the algorithms with an active key", async () => {
  const shown = async () => {
    const document = await (await provider.send("/.well-known/openid-configuration")).json()
    return document.id_token_signing_alg_values_supported
  }
  expect(await shown()).toEqual(["RS256", "ES256"])
  const { id } = await createWebKey(provider.cx(), { kind: "ed25519" })
  expect(await shown()).toEqual(["RS256", "ES256"])
  await activateWebKey(provider.cx(), id)
  expect(await shown()).toEqual(["RS256", "ES256", "EdDSA"])
})

test("the cache lifetime of the keys equals the waiting time of a new one", async () => {
  const { headers } = await provider.send("/oauth/v2/keys")
  expect(headers.get("cache-control")).toBe(`public, max-age=${publishedSeconds}`)
  const { id } = await createWebKey(provider.cx(), { kind: "ecdsa", curve: "P-256" })
  provider.clock.advance(publishedSeconds * 1000 - 1)
  await expect(activateWebKey(provider.cx(), id)).rejects.toMatchObject({ id: "web_key.too_young" })
  provider.clock.advance(1)
  await activateWebKey(provider.cx(), id)
})

test("an application can't use an algorithm without a key", async () => {
  for (const idTokenAlgorithm of ["EdDSA", "none", "HS256", ""]) {
    const asked = provider.addClient({ tokens: { idTokenAlgorithm } })
    await expect(asked, idTokenAlgorithm).rejects.toMatchObject({ id: "web_key.none_active" })
  }
})

test("an id_token that is signed with another algorithm is still a valid hint", async () => {
  const client = await provider.addClient({ tokens: { idTokenAlgorithm: "ES256" } })
  const browser = browserOf(provider)
  const at = await browser.signIn(authorizePath(client.id))
  const basic = `${client.id}:${client.secret}`
  const { answer } = await sendTokenRequest(provider, codeFields(responseOf(at).code ?? ""), basic)
  const hint = { prompt: "none", id_token_hint: String(answer.id_token) }
  expect(responseOf(await browser.go(authorizePath(client.id, hint)))).toHaveProperty("code")
})

test("lifetimes are the application's, or else the instance's", async () => {
  await changeSettings({ accessTokenLifetime: 600, idTokenLifetime: 700 })
  const [plain, other] = [
    await provider.addClient(),
    await provider.addClient({ tokens: { accessTokenLifetime: 60 } }),
  ]
  const now = Math.floor(provider.clock.now() / 1000)
  for (const [client, access] of [
    [plain, 600],
    [other, 60],
  ] as const) {
    const answer = await tokensFor(client)
    expect(answer.expires_in).toBe(access)
    expect((await verifyToken(answer.id_token)).payload.exp).toBe(now + 700)
    provider.clock.advance(access * 1000 - 1)
    expect(await userinfo(answer.access_token)).toBe(200)
    provider.clock.advance(1)
    expect(await userinfo(answer.access_token)).toBe(401)
    provider.clock.advance(-access * 1000)
  }
})

test("a shorter lifetime applies from the next token on", async () => {
  const client = await provider.addClient()
  const before = await tokensFor(client)
  await updateApplication(provider.cx(), client.appId, {
    oidc: { tokens: { accessTokenLifetime: 30 } },
  })
  expect((await tokensFor(client)).expires_in).toBe(30)
  provider.clock.advance(60_000)
  expect(await userinfo(before.access_token)).toBe(200)
})

test.each([
  ["nothing", { accessTokenLifetime: 0 }],
  ["more than keys are kept for", { idTokenLifetime: 31 * 86_400 }],
  ["part of a second", { refreshTokenGrace: 0.5 }],
  ["idle longer than at all", { refreshTokenIdleExpiration: 9, refreshTokenExpiration: 8 }],
])("an application can't use %s", async (_, tokens) => {
  const asked = provider.addClient({ tokens })
  await expect(asked).rejects.toMatchObject({ code: "invalid_argument" })
})

test("a refresh token has the application's lifetime", async () => {
  const client = await provider.addClient({
    grantTypes: ["authorization_code", "refresh_token"],
    tokens: { refreshTokenIdleExpiration: 100, refreshTokenExpiration: 150, refreshTokenGrace: 0 },
  })
  const basic = `${client.id}:${client.secret}`
  const first = await tokensFor(client, { scope: "openid offline_access" })
  const refresh = (token: unknown) =>
    sendTokenRequest(provider, { grant_type: "refresh_token", refresh_token: String(token) }, basic)
  provider.clock.advance(99_000)
  const second = await refresh(first.refresh_token)
  expect(second.status).toBe(200)
  provider.clock.advance(51_000)
  expect((await refresh(second.answer.refresh_token)).status).toBe(400)
  const again = await tokensFor(client, { scope: "openid offline_access" })
  expect((await refresh(again.refresh_token)).status).toBe(200)
  expect((await refresh(again.refresh_token)).status).toBe(400)
})
