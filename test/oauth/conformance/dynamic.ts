import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from "jose"
import { expect } from "vitest"
import { activateWebKey, createWebKey } from "../../../src/domain/key/commands.ts"
import { publishedSeconds } from "../../../src/domain/key/index.ts"

import { assertionType } from "../clients.ts"
import { browserOf, issuer, redirectUri, sendTokenRequest } from "../provider.ts"
import { managementOf, type RegistrationResponse, sendMetadata } from "../registration.ts"
import type { Module } from "./core.ts"
import { clientOf, codeOf, type RelyingParty } from "./relying-party.ts"

const web = { client_name: "Suite", redirect_uris: [redirectUri] }
const registerClient = ({ provider }: RelyingParty, more: object) =>
  sendMetadata(provider, { ...web, ...more })

/** Registers the member, and signs a user in; no page shows unverified metadata. */
const hiddenMemberModule =
  (member: string): Module =>
  async (rp) => {
    const address = "https://stranger.example/picture-or-terms"
    const { status, answer } = await registerClient(rp, { [member]: address })
    expect([status, answer]).toEqual([201, expect.not.objectContaining({ [member]: address })])
    const path = rp.request({}, clientOf(answer))
    const { page } = await browserOf(rp.provider).signIn(path)
    expect(page).toContain("Suite registered itself here")
    expect(page).not.toContain(address)
  }

const withQuery = `${redirectUri}?foo=bar`
const registerAndAuthorize = async (rp: RelyingParty, redirect_uri: string) => {
  const { answer } = await registerClient(rp, { redirect_uris: [withQuery] })
  const browser = browserOf(rp.provider)
  return { browser, at: await browser.go(rp.request({ redirect_uri }, clientOf(answer))) }
}

/** Expects an error page of ours without a redirect. */
const errorPageModule =
  (redirect_uri: string): Module =>
  async (rp) => {
    const { response } = (await registerAndAuthorize(rp, redirect_uri)).at
    expect([response.status, response.headers.get("location")]).toEqual([400, null])
  }

const redirectModules: Readonly<Record<string, Module>> = {
  "oidcc-ensure-redirect-uri-in-authorization-request": async (rp) => {
    const { response } = await browserOf(rp.provider).go(rp.request({ redirect_uri: undefined }))
    expect([response.status, response.headers.get("location")]).toEqual([400, null])
  },
  "oidcc-redirect-uri-query-OK": async (rp) => {
    const { answer } = await registerClient(rp, { redirect_uris: [withQuery] })
    const browser = browserOf(rp.provider)
    const path = rp.request({ redirect_uri: withQuery }, clientOf(answer))
    const end = await browser.post(await browser.signIn(path), { answer: "allow" })
    const { searchParams } = new URL(end.path)
    expect([searchParams.get("foo"), searchParams.has("code")]).toEqual(["bar", true])
  },
  "oidcc-redirect-uri-query-mismatch": errorPageModule(`${redirectUri}?bar=foo`),
  "oidcc-redirect-uri-query-added": errorPageModule(`${withQuery}&more=1`),
  "oidcc-redirect-uri-regfrag": async (rp) => {
    const { status, answer } = await registerClient(rp, {
      redirect_uris: [`${redirectUri}#foobar`],
    })
    expect([status, answer.error]).toEqual([400, "invalid_redirect_uri"])
  },
}

const metadataModules: Readonly<Record<string, Module>> = {
  "oidcc-registration-logo-uri": hiddenMemberModule("logo_uri"),
  "oidcc-registration-policy-uri": hiddenMemberModule("policy_uri"),
  "oidcc-registration-tos-uri": hiddenMemberModule("tos_uri"),
  "oidcc-registration-sector-bad": async (rp) => {
    const sector = { subject_type: "pairwise", sector_identifier_uri: "https://other.example/s" }
    const { status, answer } = await registerClient(rp, sector)
    expect([status, answer.error]).toEqual([400, "invalid_client_metadata"])
    const { status: alone } = await registerClient(rp, { ...sector, subject_type: "public" })
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

/** Registers a client with a key, signs a user in, and returns the token response. */
async function signInByKey(rp: RelyingParty, pair: Pair) {
  const { answer } = await registerClient(rp, keyMetadata(pair))
  const client = clientOf(answer)
  const browser = browserOf(rp.provider)
  const path = rp.request({ scope: "openid offline_access" }, client)
  const end = await browser.post(await browser.signIn(path), { answer: "allow" })
  const fields = codeOf(new URL(end.path).searchParams.get("code") ?? "")
  const proof = await proofOf(rp, client.id, pair)
  return { answer, client, tokens: await sendTokenRequest(rp.provider, { ...fields, ...proof }) }
}

const keyMetadata = ({ jwk }: Pair) => ({
  token_endpoint_auth_method: "private_key_jwt",
  grant_types: ["authorization_code", "refresh_token"],
  jwks: { keys: [jwk] },
})

const keyModules: Readonly<Record<string, Module>> = {
  "oidcc-idtoken-rs256": async (rp) => {
    const { answer } = await registerClient(rp, { id_token_signed_response_alg: "RS256" })
    expect(answer.id_token_signed_response_alg).toBe("RS256")
    // `signIn` accepts RS256 only.
    await rp.signIn({}, undefined, clientOf(answer))
  },
  "oidcc-ensure-client-assertion-with-iss-aud-succeeds": async (rp) => {
    const { tokens } = await signInByKey(rp, await keyPair("one"))
    expect([tokens.status, tokens.answer.token_type]).toEqual([200, "Bearer"])
  },
  "oidcc-refresh-token-rp-key-rotation": async (rp) => {
    const [old, fresh] = [await keyPair("old"), await keyPair("new")]
    const { answer, client, tokens } = await signInByKey(rp, old)
    // RFC 7592 §2.2: the keys are part of the registration, not at a URL.
    const changed = { ...web, ...keyMetadata(fresh), client_id: client.id }
    const put = { method: "PUT", ...managementOf(answer) }
    expect((await sendMetadata(rp.provider, changed, put)).status).toBe(200)
    const refresh_token = String(tokens.answer.refresh_token)
    const refreshed = async (pair: Pair): Promise<RegistrationResponse> => {
      const proof = await proofOf(rp, client.id, pair)
      const fields = { grant_type: "refresh_token", refresh_token, ...proof }
      return (await sendTokenRequest(rp.provider, fields)).answer
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

export const dynamicModules = { ...redirectModules, ...metadataModules, ...keyModules }
