import { expect } from "vitest"
import { loadDiscovery } from "../must.ts"
import { issuer, signedOutUri, type VisitedPage } from "../provider.ts"
import type { Module } from "./core.ts"
import type { RelyingParty } from "./relying-party.ts"

type Parameters = Readonly<Record<string, string>>

/** Signs in, and requests a sign-out as an application does. */
async function signOut(rp: RelyingParty, parametersOf: (hint: string) => Parameters) {
  const { browser, tokens } = await rp.signIn()
  const query = new URLSearchParams(parametersOf(tokens.rawIdToken))
  const end = await browser.go(`/oidc/v1/endsession?${query}`)
  const isIn = async () => !("error" in rp.answer(await browser.go(rp.request({ prompt: "none" }))))
  return { browser, end, isIn }
}

const wasSentBack = ({ path }: VisitedPage) => path.startsWith(signedOutUri)

/** Parameters that redirect nowhere, with a page of the provider instead. */
const noRedirectModule =
  (parametersOf: (hint: string) => Parameters): Module =>
  async (rp) => {
    const { browser, end } = await signOut(rp, parametersOf)
    expect(wasSentBack(end)).toBe(false)
    expect(end.response.headers.get("location")).toBeNull()
    // If the user confirms, they stay at the provider as well.
    if (!end.page.includes("<form")) return
    expect(wasSentBack(await browser.post(end, {}))).toBe(false)
  }

/** Expects no redirect; the user is signed out here after a confirmation. */
const confirmedLogoutModule =
  (parametersOf: (hint: string) => Parameters): Module =>
  async (rp) => {
    const { browser, end, isIn } = await signOut(rp, parametersOf)
    const after = end.page.includes("<form") ? await browser.post(end, {}) : end
    expect([after.path, after.response.status]).toEqual(["/ui/login/signedout", 200])
    expect(await isIn()).toBe(false)
  }

const redirectParameters = { post_logout_redirect_uri: signedOutUri, state: "logout-state" }

function modifyHint(hint: string): string {
  const [, body] = hint.split(".")
  const header = Buffer.from(JSON.stringify({ alg: "none", typ: "JWT" })).toString("base64url")
  return `${header}.${body}.`
}

const forgeHint = (hint: string) => {
  const [head, body, signature = ""] = hint.split(".")
  const other = Buffer.from(signature, "base64url").map((byte) => byte ^ 0x55)
  return `${head}.${body}.${Buffer.from(other).toString("base64url")}`
}

export const logoutModules: Readonly<Record<string, Module>> = {
  "oidcc-rp-initiated-logout-discovery-endpoint-verification": async ({ provider }) => {
    const { end_session_endpoint: address } = await loadDiscovery(provider)
    expect(String(address).startsWith(`${issuer}/`)).toBe(true)
    expect((await provider.send(String(address))).status).not.toBe(404)
  },
  "oidcc-rp-initiated-logout": async (rp) => {
    const { end, isIn } = await signOut(rp, (id_token_hint) => ({
      id_token_hint,
      ...redirectParameters,
    }))
    expect(end.path).toBe(`${signedOutUri}?state=logout-state`)
    expect(await isIn()).toBe(false)
  },
  "oidcc-rp-initiated-logout-bad-post-logout-redirect-uri": noRedirectModule((id_token_hint) => ({
    id_token_hint,
    state: "x",
    post_logout_redirect_uri: "https://evil.example/bye",
  })),
  "oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri": noRedirectModule(
    (id_token_hint) => ({
      id_token_hint,
      state: "x",
      post_logout_redirect_uri: `${signedOutUri}?foo=bar`,
    }),
  ),
  "oidcc-rp-initiated-logout-modified-id-token-hint": noRedirectModule((hint) => ({
    ...redirectParameters,
    id_token_hint: modifyHint(hint),
  })),
  "oidcc-rp-initiated-logout-bad-id-token-hint": noRedirectModule((hint) => ({
    ...redirectParameters,
    id_token_hint: forgeHint(hint),
  })),
  "oidcc-rp-initiated-logout-no-id-token-hint": noRedirectModule(() => redirectParameters),
  "oidcc-rp-initiated-logout-no-params": confirmedLogoutModule(() => ({})),
  "oidcc-rp-initiated-logout-only-state": confirmedLogoutModule(() => ({ state: "only" })),
  "oidcc-rp-initiated-logout-no-post-logout-redirect-uri": confirmedLogoutModule(
    (id_token_hint) => ({
      id_token_hint,
      state: "x",
    }),
  ),
  "oidcc-rp-initiated-logout-no-state": async (rp) => {
    const { post_logout_redirect_uri } = redirectParameters
    const { end, isIn } = await signOut(rp, (id_token_hint) => ({
      id_token_hint,
      post_logout_redirect_uri,
    }))
    expect(end.path).toBe(signedOutUri)
    expect(await isIn()).toBe(false)
  },
}
