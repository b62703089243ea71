import { createHash, generateKeyPairSync, type KeyObject, randomUUID } from "node:crypto"
import { calculateJwkThumbprint, exportJWK, SignJWT } from "jose"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import {
  authorize,
  type Browser,
  basicHeader,
  openSignedIn,
  post,
  type Row,
  userinfo,
} from "./must.ts"
import { codeFields, issuer, type NewClient, openProvider, type Provider } from "./provider.ts"

const token = "/oauth/v2/token"

let provider: Provider
let web: NewClient
let spa: NewClient
let browser: Browser
let key: Key
let other: Key
beforeAll(async () => {
  provider = await openProvider()
  const grantTypes = ["authorization_code", "refresh_token"] as const
  web = await provider.addClient({ grantTypes: [...grantTypes] })
  const open = { appType: "user_agent", authMethod: "none" } as const
  spa = await provider.addClient({ ...open, grantTypes: [...grantTypes] })
  browser = await openSignedIn(provider, web)
  key = await newKey()
  other = await newKey()
})
afterAll(() => provider.close())

type Key = { readonly privateKey: KeyObject; readonly jwk: object; readonly jkt: string }

async function newKey(): Promise<Key> {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const jwk = await exportJWK(publicKey)
  return { privateKey, jwk, jkt: await calculateJwkThumbprint(jwk) }
}

/** A proof for a POST, or for a GET with a token. */
function proofOf(by: Key, path: string, bound?: string): Promise<string> {
  const ath = bound && createHash("sha256").update(bound).digest("base64url")
  const claims = {
    jti: randomUUID(),
    htm: bound ? "GET" : "POST",
    htu: issuer + path,
    iat: Math.floor(provider.clock.now() / 1000),
    ...(ath && { ath }),
  }
  return new SignJWT(claims)
    .setProtectedHeader({ typ: "dpop+jwt", alg: "ES256", jwk: by.jwk })
    .sign(by.privateKey)
}

type RequestHeaders = Readonly<Record<string, string>>

const ask = async (fields: Readonly<Record<string, string>>, headers: RequestHeaders = {}) => {
  const response = await post(provider, token, new URLSearchParams(fields).toString(), headers)
  return { status: response.status, answer: await response.json() }
}

const withProof = async (by: Key, path = token): Promise<RequestHeaders> => ({
  dpop: await proofOf(by, path),
})

const offline = { scope: "openid offline_access" }

const rows: readonly Row[] = [
  [
    "§5 the refresh token of a public client is bound to its key",
    async () => {
      const { code = "" } = await authorize(browser, spa, offline)
      const fields = codeFields(code, { client_id: spa.id })
      const { answer } = await ask(fields, await withProof(key))
      expect(answer.token_type).toBe("DPoP")
      const { refresh_token } = answer
      const again = { grant_type: "refresh_token", refresh_token, client_id: spa.id }
      expect((await ask(again)).status).toBe(400)
      expect((await ask(again, await withProof(other))).status).toBe(400)
      const fresh = await ask(again, await withProof(key))
      expect([fresh.status, fresh.answer.token_type]).toEqual([200, "DPoP"])
    },
  ],
  [
    "§6.2 introspection of a bound token shows cnf",
    async () => {
      const { code = "" } = await authorize(browser, web)
      const as = basicHeader(web.id, web.secret)
      const { answer } = await ask(codeFields(code), { ...as, ...(await withProof(key)) })
      const body = new URLSearchParams({ token: answer.access_token }).toString()
      const told = await (await post(provider, "/oauth/v2/introspect", body, as)).json()
      expect(told).toMatchObject({ active: true, cnf: { jkt: key.jkt }, token_type: "DPoP" })
    },
  ],
  [
    "§7.1 a refusal at a resource challenges with DPoP and algs",
    async () => {
      const { code = "" } = await authorize(browser, web)
      const as = basicHeader(web.id, web.secret)
      const { answer } = await ask(codeFields(code), { ...as, ...(await withProof(key)) })
      const headers = { authorization: `DPoP ${answer.access_token}` }
      const response = await provider.send("/oidc/v1/userinfo", { headers })
      const challenge = response.headers.get("www-authenticate") ?? ""
      expect([response.status, challenge]).toEqual([401, expect.stringMatching(/DPoP /)])
      expect(challenge).toMatch(/algs="[^"]*\bES256\b[^"]*"/)
      expect((await userinfo(provider, answer.access_token)).status).toBe(401)
    },
  ],
  [
    "§10 a code with dpop_jkt works with that key only",
    async () => {
      const { code = "" } = await authorize(browser, spa, { dpop_jkt: key.jkt })
      const fields = codeFields(code, { client_id: spa.id })
      expect((await ask(fields)).status).toBe(400)
      expect((await ask(fields, await withProof(other))).status).toBe(400)
      expect((await ask(fields, await withProof(key))).status).toBe(200)
    },
  ],
]

describe("RFC 9449", () => {
  test.each(rows)("%s", (_, holds) => holds())
})
