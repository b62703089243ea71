import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from "jose"
import { expect } from "vitest"
import { activateWebKey, createWebKey } from "../../../src/domain/key/commands.ts"
import { publishedSeconds } from "../../../src/domain/key/index.ts"

import { assertionType } from "../clients.ts"
import { askToken, browserOf, issuer, redirectUri } from "../provider.ts"
import { type Answer, managed, sendMetadata } from "../registering.ts"
import type { Module } from "./core.ts"
import { codeOf, type RelyingParty, registeredFrom } from "./relying-party.ts"

const web = { client_name: "Suite", redirect_uris: [redirectUri] }
const register = ({ provider }: RelyingParty, more: object) =>
  sendMetadata(provider, { ...web, ...more })

/** Registered, it signs somebody in; what nobody has checked of it stands on no page. */
const unshown =
  (member: string): Module =>
  async (rp) => {
    const address = "https://stranger.example/picture-or-terms"
    const { status, answer } = await register(rp, { [member]: address })
    expect([status, answer]).toEqual([201, expect.not.objectContaining({ [member]: address })])
    const path = rp.request({}, registeredFrom(answer))
    const { page } = await browserOf(rp.provider).signIn(path)
    expect(page).toContain("Suite registered itself here")
    expect(page).not.toContain(address)
  }

const withQuery = `${redirectUri}?foo=bar`
const queried = async (rp: RelyingParty, redirect_uri: string) => {
  const { answer } = await register(rp, { redirect_uris: [withQuery] })
  const browser = browserOf(rp.provider)
  return { browser, at: await browser.go(rp.request({ redirect_uri }, registeredFrom(answer))) }
}

/** Told on a page of ours, and nobody is sent anywhere. */
const staysHere =
  (redirect_uri: string): Module =>
  async (rp) => {
    const { response } = (await queried(rp, redirect_uri)).at
    expect([response.status, response.headers.get("location")]).toEqual([400, null])
  }

const redirects: Readonly<Record<string, Module>> = {
  "oidcc-ensure-redirect-uri-in-authorization-request": async (rp) => {
    const { response } = await browserOf(rp.provider).go(rp.request({ redirect_uri: undefined }))
    expect([response.status, response.headers.get("location")]).toEqual([400, null])
  },
  "oidcc-redirect-uri-query-OK": async (rp) => {
    const { answer } = await register(rp, { redirect_uris: [withQuery] })
    const browser = browserOf(rp.provider)
    const path = rp.request({ redirect_uri: withQuery }, registeredFrom(answer))
    const end = await browser.post(await browser.signIn(path), { answer: "allow" })
    const { searchParams } = new URL(end.path)
    expect([searchParams.get("foo"), searchParams.has("code")]).toEqual(["bar", true])
  },
  "oidcc-redirect-uri-query-mismatch": staysHere(`${redirectUri}?bar=foo`),
  "oidcc-redirect-uri-query-added": staysHere(`${withQuery}&more=1`),
  "oidcc-redirect-uri-regfrag": async (rp) => {
    const { status, answer } = await register(rp, { redirect_uris: [`${redirectUri}#foobar`] })
    expect([status, answer.error]).toEqual([400, "invalid_redirect_uri"])
  },
}

const told: Readonly<Record<string, Module>> = {
  "oidcc-registration-logo-uri": unshown("logo_uri"),
  "oidcc-registration-policy-uri": unshown("policy_uri"),
  "oidcc-registration-tos-uri": unshown("tos_uri"),
  "oidcc-registration-sector-bad": async (rp) => {
    const sector = { subject_type: "pairwise", sector_identifier_uri: "https://other.example/s" }
    const { status, answer } = await register(rp, sector)
    expect([status, answer.error]).toEqual([400, "invalid_client_metadata"])
    const { status: alone } = await register(rp, { ...sector, subject_type: "public" })
    expect(alone).toBe(400)
  },
}

type Pair = { readonly jwk: object; readonly privateKey: CryptoKey; readonly kid: string }

async function keyPair(kid: string): Promise<Pair> {
  const { publicKey, privateKey } = await generateKeyPair("RS256")
  return { jwk: { ...(await exportJWK(publicKey)), kid, alg: "RS256" }, privateKey, kid }
}

/** RFC 7523 §3, with the issuer as its audience. */
async function proofOf({ provider }: RelyingParty, clientId: string, pair: Pair) {
  const seconds = provider.clock.now() / 1000
  const client_assertion = await new SignJWT({ jti: provider.cx().ids.next() })
    .setProtectedHeader({ alg: "RS256", kid: pair.kid })
    .setIssuer(clientId)
    .setSubject(clientId)
    .setAudience(issuer)
    .setIssuedAt(seconds)
    .setExpirationTime(seconds + 60)
    .sign(pair.privateKey)
  return { client_assertion_type: assertionType, client_assertion }
}

/** Registers a client with a key, signs somebody in, and answers what came with the code. */
async function signedInBy(rp: RelyingParty, pair: Pair) {
  const { answer } = await register(rp, keyed(pair))
  const client = registeredFrom(answer)
  const browser = browserOf(rp.provider)
  const path = rp.request({ scope: "openid offline_access" }, client)
  const end = await browser.post(await browser.signIn(path), { answer: "allow" })
  const fields = codeOf(new URL(end.path).searchParams.get("code") ?? "")
  const proof = await proofOf(rp, client.id, pair)
  return { answer, client, tokens: await askToken(rp.provider, { ...fields, ...proof }) }
}

const keyed = ({ jwk }: Pair) => ({
  token_endpoint_auth_method: "private_key_jwt",
  grant_types: ["authorization_code", "refresh_token"],
  jwks: { keys: [jwk] },
})

const keys: Readonly<Record<string, Module>> = {
  "oidcc-idtoken-rs256": async (rp) => {
    const { answer } = await register(rp, { id_token_signed_response_alg: "RS256" })
    expect(answer.id_token_signed_response_alg).toBe("RS256")
    // Whoever redeems the code takes RS256 alone.
    await rp.signIn({}, undefined, registeredFrom(answer))
  },
  "oidcc-ensure-client-assertion-with-iss-aud-succeeds": async (rp) => {
    const { tokens } = await signedInBy(rp, await keyPair("one"))
    expect([tokens.status, tokens.answer.token_type]).toEqual([200, "Bearer"])
  },
  "oidcc-refresh-token-rp-key-rotation": async (rp) => {
    const [old, fresh] = [await keyPair("old"), await keyPair("new")]
    const { answer, client, tokens } = await signedInBy(rp, old)
    // RFC 7592 §2.2: keys stand in the registration, and not at an address.
    const changed = { ...web, ...keyed(fresh), client_id: client.id }
    const put = { method: "PUT", ...managed(answer) }
    expect((await sendMetadata(rp.provider, changed, put)).status).toBe(200)
    const refresh_token = String(tokens.answer.refresh_token)
    const refreshed = async (pair: Pair): Promise<Answer> => {
      const proof = await proofOf(rp, client.id, pair)
      const fields = { grant_type: "refresh_token", refresh_token, ...proof }
      return (await askToken(rp.provider, fields)).answer
    }
    expect((await refreshed(old)).error).toBe("invalid_client")
    expect((await refreshed(fresh)).access_token).toEqual(expect.any(String))
  },
  "oidcc-server-rotate-keys": async (rp) => {
    const published = async (): Promise<readonly string[]> => {
      const { keys } = await (await rp.provider.send("/oauth/v2/keys")).json()
      return keys.map(({ kid }: { kid: string }) => kid)
    }
    const before = await published()
    const cx = rp.provider.cx()
    const { id } = await createWebKey(cx, { kind: "rsa", bits: 2048, hash: 256 })
    rp.provider.clock.advance(publishedSeconds * 1000)
    await activateWebKey(cx, id)
    const { tokens } = await rp.signIn()
    expect(await published()).toEqual(expect.arrayContaining([...before, id]))
    const [header = ""] = tokens.rawIdToken.split(".")
    expect(JSON.parse(Buffer.from(header, "base64url").toString()).kid).toBe(id)
  },
}

export const dynamicModules = { ...redirects, ...told, ...keys }
