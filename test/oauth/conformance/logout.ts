import { expect } from "vitest"
import { metadata } from "../must.ts"
import { issuer, signedOutUri, type Visited } from "../provider.ts"
import type { Module } from "./core.ts"
import type { RelyingParty } from "./relying-party.ts"

type Parameters = Readonly<Record<string, string>>

/** Signs in, and asks for a log-out as an application does. */
async function left(rp: RelyingParty, parametersOf: (hint: string) => Parameters) {
  const { browser, tokens } = await rp.signIn()
  const query = new URLSearchParams(parametersOf(tokens.rawIdToken))
  const end = await browser.go(`/oidc/v1/endsession?${query}`)
  const isIn = async () => !("error" in rp.answer(await browser.go(rp.request({ prompt: "none" }))))
  return { browser, end, isIn }
}

const wasSentBack = ({ path }: Visited) => path.startsWith(signedOutUri)

/** Parameters that lead nobody anywhere, with a page of the provider instead. */
const neverRedirects =
  (parametersOf: (hint: string) => Parameters): Module =>
  async (rp) => {
    const { browser, end } = await left(rp, parametersOf)
    expect(wasSentBack(end)).toBe(false)
    expect(end.response.headers.get("location")).toBeNull()
    // Where the person is asked and agrees, they stay with the provider as well.
    if (!end.page.includes("<form")) return
    expect(wasSentBack(await browser.post(end, {}))).toBe(false)
  }

/** Nobody is sent back; the person is signed out here, after being asked. */
const endsHere =
  (parametersOf: (hint: string) => Parameters): Module =>
  async (rp) => {
    const { browser, end, isIn } = await left(rp, parametersOf)
    const after = end.page.includes("<form") ? await browser.post(end, {}) : end
    expect([after.path, after.response.status]).toEqual(["/ui/login/signedout", 200])
    expect(await isIn()).toBe(false)
  }

const back = { post_logout_redirect_uri: signedOutUri, state: "logout-state" }

function modified(hint: string): string {
  const [, body] = hint.split(".")
  const header = Buffer.from(JSON.stringify({ alg: "none", typ: "JWT" })).toString("base64url")
  return `${header}.${body}.`
}

const forged = (hint: string) => {
  const [head, body, signature = ""] = hint.split(".")
  const other = Buffer.from(signature, "base64url").map((byte) => byte ^ 0x55)
  return `${head}.${body}.${Buffer.from(other).toString("base64url")}`
}

export const logoutModules: Readonly<Record<string, Module>> = {
  "oidcc-rp-initiated-logout-discovery-endpoint-verification": async ({ provider }) => {
    const { end_session_endpoint: address } = await metadata(provider)
    expect(String(address).startsWith(`${issuer}/`)).toBe(true)
    expect((await provider.send(String(address))).status).not.toBe(404)
  },
  "oidcc-rp-initiated-logout": async (rp) => {
    const { end, isIn } = await left(rp, (id_token_hint) => ({ id_token_hint, ...back }))
    expect(end.path).toBe(`${signedOutUri}?state=logout-state`)
    expect(await isIn()).toBe(false)
  },
  "oidcc-rp-initiated-logout-bad-post-logout-redirect-uri": neverRedirects((id_token_hint) => ({
    id_token_hint,
    state: "x",
    post_logout_redirect_uri: "https://evil.example/bye",
  })),
  "oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri": neverRedirects(
    (id_token_hint) => ({
      id_token_hint,
      state: "x",
      post_logout_redirect_uri: `${signedOutUri}?foo=bar`,
    }),
  ),
  "oidcc-rp-initiated-logout-modified-id-token-hint": neverRedirects((hint) => ({
    ...back,
    id_token_hint: modified(hint),
  })),
  "oidcc-rp-initiated-logout-bad-id-token-hint": neverRedirects((hint) => ({
    ...back,
    id_token_hint: forged(hint),
  })),
  "oidcc-rp-initiated-logout-no-id-token-hint": neverRedirects(() => back),
  "oidcc-rp-initiated-logout-no-params": endsHere(() => ({})),
  "oidcc-rp-initiated-logout-only-state": endsHere(() => ({ state: "only" })),
  "oidcc-rp-initiated-logout-no-post-logout-redirect-uri": endsHere((id_token_hint) => ({
    id_token_hint,
    state: "x",
  })),
  "oidcc-rp-initiated-logout-no-state": async (rp) => {
    const { post_logout_redirect_uri } = back
    const { end, isIn } = await left(rp, (id_token_hint) => ({
      id_token_hint,
      post_logout_redirect_uri,
    }))
    expect(end.path).toBe(signedOutUri)
    expect(await isIn()).toBe(false)
  },
}
