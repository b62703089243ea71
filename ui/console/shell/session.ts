import * as oidc from "openid-client"
import { useSyncExternalStore } from "react"
import { findStorage } from "../../kit/storage.ts"
import { clockSkewSeconds, recordServerClock } from "./clock.ts"
import { removeDrafts } from "./draft-storage.ts"

export type SignedInUser = {
  readonly id: string
  readonly name: string
  readonly loginName: string
  /** URL of the avatar, if there is one. */
  readonly picture: string | undefined
  /** The session of this browser (OpenID Connect Back-Channel Logout §2.1, sid). */
  readonly sessionId: string
}

/**
 * The session state of this tab. While it is "starting", the console is rendered, and requests
 * wait.
 */
export type Session =
  | { readonly status: "starting" }
  | { readonly status: "signed-in"; readonly person: SignedInUser }
  /**
   * The session has ended, but the page stays; waiting requests continue after the next sign-in.
   */
  | { readonly status: "ended" }
  | { readonly status: "signed-out" }
  /** The tab was opened to sign in for another tab, and is done. */
  | { readonly status: "done" }
  | { readonly status: "failed"; readonly why: Failure }

/** Why the console can't start; a message for other errors. */
export type Failure = "cookies" | "clock" | "unreachable" | { readonly message: string }

const consolePath = "/ui/console"
/** The account pages, which share the session and bundle of the console. */
const accountPath = "/ui/account"
const paths = {
  home: `${consolePath}/`,
  callback: `${consolePath}/callback`,
  signedOut: `${consolePath}/signed-out`,
  /** The callback that asks the user to continue in the other tab. */
  again: `${consolePath}/signed-in`,
} as const

const pendingKey = "latchkey.sign-in"
const hintKey = "latchkey.hint"
const homeKey = "latchkey.home"
/** The user whose drafts are in this tab, kept across redirects to the sign-in page. */
const personKey = "latchkey.person"

type Tokens = { readonly access: string; readonly id: string }

let session: Session = { status: "starting" }
let tokens: Tokens | undefined
let tokensArrived = Promise.withResolvers<Tokens>()
let renewal: Promise<boolean> | undefined
let clientSetup: Promise<Client> | undefined
const listeners = new Set<() => void>()
const channel = new BroadcastChannel("latchkey.session")

export function useSession(): Session {
  return useSyncExternalStore(
    (changed) => {
      listeners.add(changed)
      return () => listeners.delete(changed)
    },
    () => session,
  )
}

function setSessionState(next: Session): void {
  session = next
  for (const listener of listeners) listener()
}

/** Determines the session state of the browser and continues the sign-in. */
export async function start(): Promise<void> {
  // Without cookies, neither sessions nor the sign-in flow work.
  if (!navigator.cookieEnabled || !findStorage("sessionStorage")) {
    setSessionState({ status: "failed", why: "cookies" })
    return
  }
  channel.onmessage = ({ data }) => void handleMessage(data)
  await orShowFailure(async () => {
    const { pathname } = location
    if (pathname === paths.signedOut) setSessionState({ status: "signed-out" })
    else if (pathname === paths.callback) await handleCallback()
    else if (!(await tryRenew())) await redirectToSignIn({})
  })
}

/** Runs a step of the sign-in and shows a failure in place of the page. */
async function orShowFailure(step: () => Promise<void>): Promise<void> {
  try {
    await step()
  } catch (failure) {
    setSessionState({ status: "failed", why: toFailure(failure) })
  }
}

/** Handles messages of other tabs, which share the session. */
async function handleMessage(notice: unknown): Promise<void> {
  if (notice === "signed-out") {
    clearSession()
    setSessionState({ status: "signed-out" })
  }
  if (notice === "signed-in" && session.status !== "signed-in") await tryRenew()
}

/** The access token, once available; only stored in memory. */
export async function accessToken(): Promise<string> {
  return (await (tokens ?? tokensArrived.promise)).access
}

/**
 * Returns a new token after the server rejected one. If the session has ended, waits until the user
 * has signed in again, here or in another tab, so that unsaved input is kept.
 */
export async function renewToken(stale: string): Promise<string> {
  // If renewal fails temporarily, the old token stays, so the next call tries again.
  if (tokens?.access === stale && !(await tryRenew()) && tokens?.access === stale) {
    tokens = undefined
    tokensArrived = Promise.withResolvers<Tokens>()
    setSessionState({ status: "ended" })
  }
  return accessToken()
}

/** Requests tokens without user interaction; true if the browser's session allows it. */
function tryRenew(): Promise<boolean> {
  renewal ??= renew().finally(() => {
    renewal = undefined
  })
  return renewal
}

/**
 * Maximum age of a fresh sign-in (OpenID Connect Core §3.1.2.1, max_age); a few minutes less than
 * the server's 15.
 */
const freshParameters = { max_age: "600" } as const

/** Requests tokens of a recent sign-in, which may have happened in another tab. */
export const renewFresh = (): Promise<boolean> => renew(freshParameters)

/**
 * OpenID Connect Core §3.1.2.1, prompt=none: follows the redirect to this origin and reads the
 * response.
 */
async function renew(more: Readonly<Record<string, string>> = {}): Promise<boolean> {
  const client = await getClient()
  const hint = sessionStorage.getItem(hintKey)
  const { url, pending } = await createRequest(client, {
    prompt: "none",
    ...more,
    ...(hint && { id_token_hint: hint }),
  })
  const answer = await fetch(url, { headers: { accept: "application/json" } })
  recordServerClock(answer)
  const back = new URL(answer.url)
  if (back.pathname !== paths.callback || !back.searchParams.has("code")) return false
  await acceptTokens(await redeem(client, back, pending))
  return true
}

type Client = {
  readonly config: () => oidc.Configuration
  readonly scope: string
  readonly home: URL
  readonly upstream: string
}

/** The endpoints are fixed, so no discovery is needed. */
function getClient(): Promise<Client> {
  clientSetup ??= fetchClient().catch((failure) => {
    clientSetup = undefined
    throw failure
  })
  return clientSetup
}

async function fetchClient(): Promise<Client> {
  const answer = await fetch(`${consolePath}/environment.json`)
  if (!answer.ok) throw new Error(`environment.json: ${answer.status}`)
  recordServerClock(answer)
  const { issuer, clientId, scope, upstream }: Record<string, unknown> = await answer.json()
  const home = new URL(String(issuer))
  // Cookies and redirect URIs require the public URL.
  if (home.origin !== location.origin) {
    location.replace(home.origin + location.pathname + location.search)
    return new Promise(() => {})
  }
  const at = (path: string) => `${home.origin}${path}`
  const metadata = {
    issuer: String(issuer),
    authorization_endpoint: at("/oauth/v2/authorize"),
    token_endpoint: at("/oauth/v2/token"),
    userinfo_endpoint: at("/oidc/v1/userinfo"),
    end_session_endpoint: at("/oidc/v1/endsession"),
    authorization_response_iss_parameter_supported: true,
  }
  const config = () => {
    // Tokens are checked by the server's clock, because the device's may be wrong.
    const client = { [oidc.clockSkew]: clockSkewSeconds() }
    const created = new oidc.Configuration(metadata, String(clientId), client, oidc.None())
    if (home.protocol === "http:") oidc.allowInsecureRequests(created)
    return created
  }
  return { config, scope: String(scope), home, upstream: String(upstream) }
}

/** The server as reached from a proxy on its host: an origin, or "unix:" and a path. */
export const fetchUpstream = async (): Promise<string> => (await getClient()).upstream

type Pending = {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly returnTo: string
}

/** An authorization request (RFC 6749 §4.1.1) with PKCE (RFC 7636 §4.3). */
async function createRequest(client: Client, more: Readonly<Record<string, string>> = {}) {
  const pending: Pending = {
    state: oidc.randomState(),
    nonce: oidc.randomNonce(),
    verifier: oidc.randomPKCECodeVerifier(),
    returnTo: location.pathname + location.search,
  }
  const url = oidc.buildAuthorizationUrl(client.config(), {
    redirect_uri: client.home.origin + paths.callback,
    scope: client.scope,
    state: pending.state,
    nonce: pending.nonce,
    code_challenge: await createChallenge(pending.verifier),
    code_challenge_method: "S256",
    ...more,
  })
  return { url, pending }
}

/** WebCrypto is missing on plain HTTP except on localhost, which is common in tests. */
async function createChallenge(verifier: string): Promise<string> {
  if (isSecureContext) return oidc.calculatePKCECodeChallenge(verifier)
  const { challengeWithoutWebCrypto } = await import("./challenge.ts")
  return challengeWithoutWebCrypto(verifier)
}

/** Redirects to the sign-in page and back to the current page. */
export const signIn = (): Promise<void> => orShowFailure(() => redirectToSignIn({}))

/** Redirects to a fresh sign-in, for changes that must confirm the user's identity. */
export async function signInFresh(): Promise<void> {
  const hint = sessionStorage.getItem(hintKey)
  await orShowFailure(() =>
    redirectToSignIn({ ...freshParameters, ...(hint && { id_token_hint: hint }) }),
  )
}

async function redirectToSignIn(more: Readonly<Record<string, string>>): Promise<void> {
  const { url, pending } = await createRequest(await getClient(), more)
  const home = sessionStorage.getItem(homeKey) ?? paths.home
  const returnTo = session.status === "signed-out" ? home : pending.returnTo
  sessionStorage.setItem(pendingKey, JSON.stringify({ ...pending, returnTo }))
  location.assign(url)
}

/** The path where another tab signs in for this one. */
export const signInTabPath = paths.again

async function handleCallback(): Promise<void> {
  const client = await getClient()
  const pending = takePending()
  if (!pending) {
    history.replaceState(null, "", paths.home)
    await redirectToSignIn({})
    return
  }
  const fresh = await redeem(client, new URL(location.href), pending)
  history.replaceState(null, "", pending.returnTo)
  await acceptTokens(fresh)
  channel.postMessage("signed-in")
  if (pending.returnTo === paths.again) setSessionState({ status: "done" })
}

function takePending(): Pending | undefined {
  const stored = sessionStorage.getItem(pendingKey)
  sessionStorage.removeItem(pendingKey)
  if (stored === null) return undefined
  const { state, nonce, verifier, returnTo }: Record<string, unknown> = JSON.parse(stored)
  const isOwn = [consolePath, accountPath].some((each) => String(returnTo).startsWith(`${each}/`))
  const own = isOwn || returnTo === accountPath ? String(returnTo) : paths.home
  return { state: String(state), nonce: String(nonce), verifier: String(verifier), returnTo: own }
}

async function redeem({ config }: Client, back: URL, pending: Pending) {
  return oidc.authorizationCodeGrant(config(), back, {
    expectedState: pending.state,
    expectedNonce: pending.nonce,
    pkceCodeVerifier: pending.verifier,
    idTokenExpected: true,
  })
}

async function acceptTokens(answer: Awaited<ReturnType<typeof redeem>>): Promise<void> {
  const claims = answer.claims()
  const id = claims?.sub ?? ""
  const before = session.status === "signed-in" ? session.person.id : lastPerson
  if ((before ?? sessionStorage.getItem(personKey) ?? id) !== id) removeDrafts()
  sessionStorage.setItem(personKey, id)
  // If another user signed in, nothing of the previous user must remain on the page.
  if (before !== undefined && before !== id) {
    location.replace(paths.home)
    return
  }
  const { config } = await getClient()
  const info = await oidc.fetchUserInfo(config(), answer.access_token, id)
  const loginName = info.preferred_username ?? id
  lastPerson = id
  tokens = { access: answer.access_token, id: answer.id_token ?? "" }
  sessionStorage.setItem(hintKey, tokens.id)
  tokensArrived.resolve(tokens)
  const { name = loginName, picture } = info
  const sessionId = String(claims?.sid ?? "")
  setSessionState({ status: "signed-in", person: { id, name, loginName, picture, sessionId } })
}

let lastPerson: string | undefined

/** Ends the session at the server and shows the signed-out page in every tab. */
export const signOut = (): Promise<void> =>
  orShowFailure(async () => {
    const { config, home } = await getClient()
    const url = oidc.buildEndSessionUrl(config(), {
      id_token_hint: tokens?.id ?? sessionStorage.getItem(hintKey) ?? "",
      post_logout_redirect_uri: home.origin + paths.signedOut,
    })
    clearUserData()
    location.assign(url)
  })

/** Signs out after the account was removed, without a session to end at the server. */
export function handleAccountRemoved(): void {
  clearUserData()
  location.assign(paths.signedOut)
}

/** Remembers whether to return to the console or the account pages. */
function clearUserData(): void {
  const isAccount = location.pathname.startsWith(accountPath)
  sessionStorage.setItem(homeKey, isAccount ? accountPath : paths.home)
  clearSession()
  channel.postMessage("signed-out")
}

function clearSession(): void {
  tokens = undefined
  tokensArrived = Promise.withResolvers<Tokens>()
  sessionStorage.removeItem(hintKey)
  sessionStorage.removeItem(personKey)
  removeDrafts()
}

function toFailure(failure: unknown): Failure {
  if (
    failure instanceof oidc.AuthorizationResponseError ||
    failure instanceof oidc.ResponseBodyError
  )
    return { message: failure.error_description ?? failure.error }
  if (!(failure instanceof Error)) return { message: String(failure) }
  // The server sent no Date header, or the device's clock was changed in the meantime.
  if ("code" in failure && failure.code === timestampCheck) return "clock"
  // Browsers throw a TypeError if the server can't be reached.
  return failure instanceof TypeError ? "unreachable" : { message: failure.message }
}

/** The error code of openid-client for a token outside its validity period. */
const timestampCheck = "OAUTH_JWT_TIMESTAMP_CHECK_FAILED"
