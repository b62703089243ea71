import { createHash } from "node:crypto"
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { authenticateApiCaller } from "../../src/oauth/index.ts"
import {
  authorizePath,
  browserOf,
  codeFields,
  issuer,
  type NewClient,
  openProvider,
  type Provider,
  responseOf,
  sendTokenRequest,
} from "./provider.ts"

type Key = Awaited<ReturnType<typeof newKey>>

async function newKey(alg = "ES256") {
  const pair = await generateKeyPair(alg, { extractable: true })
  const jwk = await exportJWK(pair.publicKey)
  return { alg, ...pair, jwk, jkt: await calculateJwkThumbprint(jwk) }
}

let provider: Provider
let client: NewClient
let key: Key
let browser: ReturnType<typeof browserOf>
let serial = 0

beforeAll(async () => {
  provider = await openProvider()
  client = await provider.addClient()
  key = await newKey()
  // The process has been running for longer than any proof is valid.
  provider.clock.advance(120_000)
  browser = browserOf(provider)
  await browser.signIn(authorizePath(client.id))
})
afterAll(() => provider.close())

type Changes = {
  readonly header?: { readonly typ?: string; readonly jwk?: JWK | undefined }
  readonly claims?: Readonly<Record<string, unknown>>
  readonly with?: Key
}

const seconds = () => Math.floor(provider.cx().clock.now() / 1000)

function proof(path: string, method: string, changes: Changes = {}): Promise<string> {
  const { alg, jwk, privateKey } = changes.with ?? key
  const claims = {
    jti: `proof-${++serial}`,
    htm: method,
    htu: `${issuer}${path}`,
    iat: seconds(),
    ...changes.claims,
  }
  const { typ = "dpop+jwt", ...header } = { jwk, ...changes.header }
  return new SignJWT(claims)
    .setProtectedHeader({ typ, alg, ...(header.jwk && { jwk: header.jwk }) })
    .sign(privateKey)
}

const atToken = (changes?: Changes) => proof("/oauth/v2/token", "POST", changes)
const hashOf = (text: string) => createHash("sha256").update(text).digest("base64url")

async function newCode(): Promise<string> {
  return responseOf(await browser.go(authorizePath(client.id))).code ?? ""
}

async function redeem(dpop?: string, code?: string) {
  const body = new URLSearchParams(codeFields(code ?? (await newCode())))
  const basic = Buffer.from(`${client.id}:${client.secret}`).toString("base64")
  const headers = new Headers({ authorization: `Basic ${basic}` })
  if (dpop !== undefined) headers.set("dpop", dpop)
  const response = await provider.send("/oauth/v2/token", { method: "POST", body, headers })
  const answer: Record<string, unknown> = await response.json()
  return { status: response.status, answer }
}

async function boundToken(): Promise<string> {
  return String((await redeem(await atToken())).answer.access_token)
}

const userinfo = (authorization: string, dpop?: string) =>
  provider.send("/oidc/v1/userinfo", {
    headers: { authorization, ...(dpop !== undefined && { dpop }) },
  })

describe("RFC 9449 §5: a proof at the token endpoint", () => {
  test("binds the access token to its key, opaque and JWT", async () => {
    const { status, answer } = await redeem(await atToken())
    expect(status).toBe(200)
    expect(answer.token_type).toBe("DPoP")
  })

  test("can have a fractional iat, and is accepted once (RFC 7519 §2)", async () => {
    const iat = provider.clock.now() / 1000 - 0.000_567_8
    const all = await Promise.all([
      redeem(await atToken({ claims: { iat } })),
      redeem(await atToken()),
      redeem(await atToken()),
    ])
    expect(all.map(({ status }) => status)).toEqual([200, 200, 200])
  })

  test("is optional, and the token is then a bearer token", async () => {
    const { answer } = await redeem()
    expect(answer.token_type).toBe("Bearer")
  })

  test("is written into a JWT as cnf.jkt (RFC 9449 §6.1)", async () => {
    const jwtClient = await provider.addClient({ tokenType: "jwt" })
    const code = responseOf(await browser.go(authorizePath(jwtClient.id))).code ?? ""
    const basic = Buffer.from(`${jwtClient.id}:${jwtClient.secret}`).toString("base64")
    const response = await provider.send("/oauth/v2/token", {
      method: "POST",
      body: new URLSearchParams(codeFields(code)),
      headers: { authorization: `Basic ${basic}`, dpop: await atToken() },
    })
    const { access_token: token } = await response.json()
    const claims = JSON.parse(Buffer.from(String(token).split(".")[1] ?? "", "base64").toString())
    expect(claims.cnf).toEqual({ jkt: key.jkt })
    const dpop = await proof("/oidc/v1/userinfo", "GET", { claims: { ath: hashOf(token) } })
    expect((await userinfo(`DPoP ${token}`, dpop)).status).toBe(200)
    expect((await userinfo(`Bearer ${token}`, dpop)).status).toBe(401)
  })

  test("accepts every algorithm in discovery", async () => {
    const response = await provider.send("/.well-known/openid-configuration")
    const { dpop_signing_alg_values_supported: named } = await response.json()
    expect(named).toContain("ES256")
    expect(named.every((alg: string) => !/^(none|HS)/.test(alg))).toBe(true)
    for (const alg of ["ES384", "EdDSA", "PS256", "RS256"]) {
      const other = await newKey(alg)
      expect((await redeem(await atToken({ with: other }))).status, alg).toBe(200)
    }
  })
})

describe("RFC 9449 §4.3: a proof is rejected", () => {
  const wrong: readonly (readonly [why: string, changes: () => Changes | Promise<Changes>])[] = [
    ["(4) of another type", () => ({ header: { typ: "JWT" } })],
    [
      "(7) with another's key in its header",
      async () => ({ header: { jwk: (await newKey()).jwk } }),
    ],
    [
      "(6) with a private key in its header",
      async () => {
        const jwk = await exportJWK(key.privateKey)
        return { header: { jwk } }
      },
    ],
    ["(6) without a key in its header", () => ({ header: { jwk: undefined } })],
    [
      "(6) with a key that is none",
      () => ({ header: { jwk: { kty: "EC", crv: "P-256", x: "AA" } } }),
    ],
    ["(6) with a symmetric key", () => ({ header: { jwk: { kty: "oct", k: "AAAA" } } })],
    ["(3) without jti", () => ({ claims: { jti: undefined } })],
    ["(3) with a jti that is no text", () => ({ claims: { jti: 7 } })],
    ["(3) with an endless jti", () => ({ claims: { jti: "j".repeat(5000) } })],
    ["(3) without iat", () => ({ claims: { iat: undefined } })],
    ["(8) for another method", () => ({ claims: { htm: "GET" } })],
    ["(8) for the method in small letters", () => ({ claims: { htm: "post" } })],
    ["(9) for another path", () => ({ claims: { htu: `${issuer}/oidc/v1/userinfo` } })],
    ["(9) for another host", () => ({ claims: { htu: "https://evil.example/oauth/v2/token" } })],
    [
      "(9) for another scheme",
      () => ({
        claims: { htu: `${issuer}/oauth/v2/token`.replace("https", "http") },
      }),
    ],
    [
      "(9) for an address with a name and a password in it",
      () => ({ claims: { htu: `${issuer}/oauth/v2/token`.replace("://", "://a:b@") } }),
    ],
    ["(9) without an address", () => ({ claims: { htu: undefined } })],
    ["(11) that is old", () => ({ claims: { iat: seconds() - 75 } })],
    ["(11) from the future", () => ({ claims: { iat: seconds() + 30 } })],
  ]
  test.each(wrong)("%s", async (_, changes) => {
    const { status, answer } = await redeem(await atToken(await changes()))
    expect(answer.error).toBe("invalid_dpop_proof")
    expect(status).toBe(400)
  })

  test("(2) that is not a JWT, is empty, unsigned, or one of two", async () => {
    const good = await atToken()
    const head = Buffer.from('{"typ":"dpop+jwt","alg":"none"}').toString("base64url")
    const unsigned = `${head}.${good.split(".")[1]}.`
    for (const dpop of ["x", " ", "..", unsigned, `${good}, ${await atToken()}`, `${good}x`]) {
      expect((await redeem(dpop)).answer.error, dpop.slice(0, 9)).toBe("invalid_dpop_proof")
    }
  })

  test("§11.1: that was used before, here or on another node, also concurrently", async () => {
    const once = await atToken()
    const codes = [await newCode(), await newCode(), await newCode()]
    const answers = await Promise.all(codes.map((code) => redeem(once, code)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400])
    expect((await redeem(once)).answer.error).toBe("invalid_dpop_proof")
  })

  /** The result of a proof alone, without a client. */
  async function judged(on: Provider, dpop: string): Promise<unknown> {
    const body = new URLSearchParams({ grant_type: "refresh_token", client_id: "nobody" })
    const init = { method: "POST", body, headers: { dpop } }
    return (await (await on.send("/oauth/v2/token", init)).json()).error
  }

  test("§11.1: that was used before stays rejected for its validity period", async () => {
    const used: string[] = []
    for (let passed = 0; passed < 200; passed += 5) {
      const dpop = await atToken()
      expect(await judged(provider, dpop)).toBe("invalid_client")
      used.push(dpop)
      provider.clock.advance(5000)
      for (const again of used.slice(-14)) {
        expect(await judged(provider, again), `${passed}`).toBe("invalid_dpop_proof")
      }
    }
  })

  test("§11.1: that was created before this process started is rejected", async () => {
    const fresh = await openProvider()
    const began = fresh.clock.now() / 1000
    fresh.clock.advance(2000)
    const tried = async (iat: number) => judged(fresh, await atToken({ claims: { iat } }))
    // Another process, whose used proofs are unknown here unless nodes share them.
    const isKnown = fresh.cx().store.node !== undefined
    expect(await tried(began - 1)).toBe(isKnown ? "invalid_client" : "invalid_dpop_proof")
    expect([await tried(began), await tried(began + 2)]).toEqual([
      "invalid_client",
      "invalid_client",
    ])
    await fresh.close()
  })

  test("accepts a clock skew of ten seconds, either way", async () => {
    for (const off of [-10, 10]) {
      const dpop = await atToken({ claims: { iat: seconds() + off } })
      expect((await redeem(dpop)).status, `${off}`).toBe(200)
    }
  })

  test("accepts a URL with a query, a fragment or another spelling", async () => {
    for (const htu of ["?a=b", "#c"].map((rest) => `${issuer}/oauth/v2/token${rest}`)) {
      expect((await redeem(await atToken({ claims: { htu } }))).status).toBe(200)
    }
    const htu = `${issuer.replace("https://", "HTTPS://")}.:443/oauth/v2/token`
    expect((await redeem(await atToken({ claims: { htu } }))).status).toBe(200)
  })
})

describe("RFC 9449 §7: a token bound to a key", () => {
  const use = (token: string, changes: Changes = {}) =>
    proof("/oidc/v1/userinfo", "GET", {
      ...changes,
      claims: { ath: hashOf(token), ...changes.claims },
    })

  test("is accepted at userinfo with a proof of that key for that token", async () => {
    const token = await boundToken()
    const answer = await userinfo(`DPoP ${token}`, await use(token))
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({ sub: provider.setup.ownerId })
  })

  test("is rejected as a bearer token, or without a proof", async () => {
    const token = await boundToken()
    expect((await userinfo(`Bearer ${token}`)).status).toBe(401)
    expect((await userinfo(`Bearer ${token}`, await use(token))).status).toBe(401)
    const bare = await userinfo(`DPoP ${token}`)
    expect(bare.status).toBe(401)
    expect(bare.headers.get("www-authenticate")).toMatch(/DPoP .*error="invalid_dpop_proof"/)
    const body = new URLSearchParams({ access_token: token })
    expect((await provider.send("/oidc/v1/userinfo", { method: "POST", body })).status).toBe(401)
  })

  test("is rejected with another key, or a proof for another token, method or path", async () => {
    const token = await boundToken()
    const stolen = await newKey()
    const wrong: readonly Changes[] = [
      { with: stolen },
      { claims: { ath: hashOf("another") } },
      { claims: { ath: undefined } },
      { claims: { htm: "POST" } },
      { claims: { htu: `${issuer}/oauth/v2/token` } },
    ]
    for (const changes of wrong) {
      const dpop = await use(token, changes)
      expect((await userinfo(`DPoP ${token}`, dpop)).status, JSON.stringify(changes)).toBe(401)
    }
  })

  test("accepts a proof once", async () => {
    const token = await boundToken()
    const dpop = await use(token)
    expect((await userinfo(`DPoP ${token}`, dpop)).status).toBe(200)
    expect((await userinfo(`DPoP ${token}`, dpop)).status).toBe(401)
  })

  test("§7.2: an unbound token is not accepted as a bound one", async () => {
    const { answer } = await redeem()
    const token = String(answer.access_token)
    expect((await userinfo(`DPoP ${token}`, await use(token))).status).toBe(401)
    expect((await userinfo(`Bearer ${token}`)).status).toBe(200)
  })

  test("is accepted by the management API with a proof, and not without", async () => {
    const assertionScope = "openid urn:core:iam:org:project:id:core:aud"
    const started = await browser.go(authorizePath(client.id, { scope: assertionScope }))
    const { code = "" } = responseOf(await browser.post(started, { answer: "allow" }))
    const token = String((await redeem(await atToken(), code)).answer.access_token)
    const path = "/management/v1/iam"
    const call = (authorization: string, dpop?: string) =>
      authenticateApiCaller(provider.cx(), {
        headers: new Headers({ authorization, ...(dpop !== undefined && { dpop }) }),
        method: "GET",
        path,
      })
    const fitting = () => proof(path, "GET", { claims: { ath: hashOf(token) } })
    expect(await call(`DPoP ${token}`, await fitting())).toMatchObject({ kind: "user" })
    await expect(call(`DPoP ${token}`)).rejects.toThrow(/DPoP proof is missing/)
    await expect(call(`Bearer ${token}`, await fitting())).rejects.toThrow(
      /the access token is invalid or has expired/,
    )
    const elsewhere = await proof("/admin/v1/x", "GET", { claims: { ath: hashOf(token) } })
    await expect(call(`DPoP ${token}`, elsewhere)).rejects.toThrow(/invalid for this request/)
  })
})

test("RFC 6750 §2: an access token in header and form is rejected", async () => {
  const { answer } = await sendTokenRequest(
    provider,
    codeFields(await newCode()),
    `${client.id}:${client.secret}`,
  )
  const token = String(answer.access_token)
  const response = await provider.send("/oidc/v1/userinfo", {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body: new URLSearchParams({ access_token: token }),
  })
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ error: "invalid_request" })
})
