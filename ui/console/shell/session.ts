import * as oidc from "openid-client"
import { useSyncExternalStore } from "react"
import { storageOf } from "../../kit/storage.ts"
import { clockSkewSeconds, noteClock } from "./clock.ts"
import { removeDrafts } from "./draft-storage.ts"

export type Person = {
  readonly id: string
  readonly name: string
  readonly loginName: string
  /** The address of a picture of them, where there is one. */
  readonly picture: string | undefined
  /** The session of this browser (OpenID Connect Back-Channel Logout §2.1, sid). */
  readonly sessionId: string
}

/** Where this tab stands. While it is "starting" the console is drawn, and its readings wait. */
export type Session =
  | { readonly status: "starting" }
  | { readonly status: "signed-in"; readonly person: Person }
  /** The sign-in is over, the page stays: what waits goes on after the next one. */
  | { readonly status: "ended" }
  | { readonly status: "signed-out" }
  /** The tab was opened to sign in for another one, and has done so. */
  | { readonly status: "done" }
  | { readonly status: "failed"; readonly why: Failure }

/** Why the console can't open; a message where nothing else is known. */
export type Failure = "cookies" | "clock" | "unreachable" | { readonly message: string }

const base = "/ui/console"
/** What people manage of themselves; it has the sign-in and the bundle of the console. */
const account = "/ui/account"
const paths = {
  home: `${base}/`,
  callback: `${base}/callback`,
  signedOut: `${base}/signed-out`,
  /** Leads through the sign-in and says that the other tab goes on. */
  again: `${base}/signed-in`,
} as const

const pendingKey = "latchkey.sign-in"
const hintKey = "latchkey.hint"
const homeKey = "latchkey.home"
/** Whose drafts there are in this tab, also when it was left for the sign-in page. */
const personKey = "latchkey.person"

type Tokens = { readonly access: string; readonly id: string }

let session: Session = { status: "starting" }
let tokens: Tokens | undefined
let arrival = Promise.withResolvers<Tokens>()
let renewing: Promise<boolean> | undefined
let setup: Promise<Client> | undefined
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

function become(next: Session): void {
  session = next
  for (const listener of listeners) listener()
}

/** Finds out where the browser stands in the sign-in, and takes the next step. */
export async function start(): Promise<void> {
  // Without cookies nobody stays signed in, and the sign-in can't be carried on here either.
  if (!navigator.cookieEnabled || !storageOf("sessionStorage")) {
    become({ status: "failed", why: "cookies" })
    return
  }
  channel.onmessage = ({ data }) => void heard(data)
  await orFail(async () => {
    const { pathname } = location
    if (pathname === paths.signedOut) become({ status: "signed-out" })
    else if (pathname === paths.callback) await finish()
    else if (!(await renewed())) await leave({})
  })
}

/** Takes a step of the sign-in; one that fails is shown instead of the page. */
async function orFail(step: () => Promise<void>): Promise<void> {
  try {
    await step()
  } catch (failure) {
    become({ status: "failed", why: failureOf(failure) })
  }
}

/** What other tabs of this browser tell: one session is everybody's. */
async function heard(told: unknown): Promise<void> {
  if (told === "signed-out") {
    forget()
    become({ status: "signed-out" })
  }
  if (told === "signed-in" && session.status !== "signed-in") await renewed()
}

/** The access token, as soon as there is one; it lives in this module and nowhere else. */
export async function accessToken(): Promise<string> {
  return (await (tokens ?? arrival.promise)).access
}

/**
 * The token after one that the server no longer takes. Where the sign-in itself is over, the answer
 * waits until the person has signed in again, here or in another tab: nothing typed is lost.
 */
export async function tokenAfter(stale: string): Promise<string> {
  // While it can't be asked the old one stays: the next call finds the same, and asks again.
  if (tokens?.access === stale && !(await renewed()) && tokens?.access === stale) {
    tokens = undefined
    arrival = Promise.withResolvers<Tokens>()
    become({ status: "ended" })
  }
  return accessToken()
}

/** Asks for tokens without a page: true where the browser's session still allows it. */
function renewed(): Promise<boolean> {
  renewing ??= renew().finally(() => {
    renewing = undefined
  })
  return renewing
}

/**
 * How old a sign-in is taken for fresh (OpenID Connect Core §3.1.2.1, max_age): it leaves a few
 * minutes of the quarter of an hour that the server gives.
 */
const fresh = { max_age: "600" } as const

/** The same for a sign-in that is recent: another tab may have had one. */
export const renewedFresh = (): Promise<boolean> => renew(fresh)

/** OpenID Connect Core §3.1.2.1, prompt=none: the redirect ends on our origin, and is read. */
async function renew(more: Readonly<Record<string, string>> = {}): Promise<boolean> {
  const client = await clientOf()
  const hint = sessionStorage.getItem(hintKey)
  const { url, pending } = await requestOf(client, {
    prompt: "none",
    ...more,
    ...(hint && { id_token_hint: hint }),
  })
  const answer = await fetch(url, { headers: { accept: "application/json" } })
  noteClock(answer)
  const back = new URL(answer.url)
  if (back.pathname !== paths.callback || !back.searchParams.has("code")) return false
  await take(await redeem(client, back, pending))
  return true
}

type Client = {
  readonly config: () => oidc.Configuration
  readonly scope: string
  readonly home: URL
  readonly upstream: string
}

/** The endpoints are fixed by the interface, so nobody asks for them first. */
function clientOf(): Promise<Client> {
  setup ??= read().catch((failure) => {
    setup = undefined
    throw failure
  })
  return setup
}

async function read(): Promise<Client> {
  const answer = await fetch(`${base}/environment.json`)
  if (!answer.ok) throw new Error(`environment.json: ${answer.status}`)
  noteClock(answer)
  const { issuer, clientId, scope, upstream }: Record<string, unknown> = await answer.json()
  const home = new URL(String(issuer))
  // Cookies and redirect URIs belong to the public address.
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
    // Tokens are checked by the server's clock: that of the device may be wrong.
    const client = { [oidc.clockSkew]: clockSkewSeconds() }
    const made = new oidc.Configuration(metadata, String(clientId), client, oidc.None())
    if (home.protocol === "http:") oidc.allowInsecureRequests(made)
    return made
  }
  return { config, scope: String(scope), home, upstream: String(upstream) }
}

/** Where a proxy on its machine reaches the server: an origin, or "unix:" and a path. */
export const upstreamOfServer = async (): Promise<string> => (await clientOf()).upstream

type Pending = {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly returnTo: string
}

/** RFC 6749 §4.1.1 with PKCE (RFC 7636 §4.3). */
async function requestOf(client: Client, more: Readonly<Record<string, string>> = {}) {
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
    code_challenge: await challengeOf(pending.verifier),
    code_challenge_method: "S256",
    ...more,
  })
  return { url, pending }
}

/** WebCrypto is missing on plain http beyond localhost, where people try things out first. */
async function challengeOf(verifier: string): Promise<string> {
  if (isSecureContext) return oidc.calculatePKCECodeChallenge(verifier)
  const { challengeWithout } = await import("./challenge.ts")
  return challengeWithout(verifier)
}

/** Leaves for the sign-in page, to come back to the page that is open. */
export const signIn = (): Promise<void> => orFail(() => leave({}))

/** The same for a change that wants to know that it is still this person who sits there. */
export async function signInFresh(): Promise<void> {
  const hint = sessionStorage.getItem(hintKey)
  await orFail(() => leave({ ...fresh, ...(hint && { id_token_hint: hint }) }))
}

async function leave(more: Readonly<Record<string, string>>): Promise<void> {
  const { url, pending } = await requestOf(await clientOf(), more)
  const home = sessionStorage.getItem(homeKey) ?? paths.home
  const returnTo = session.status === "signed-out" ? home : pending.returnTo
  sessionStorage.setItem(pendingKey, JSON.stringify({ ...pending, returnTo }))
  location.assign(url)
}

/** Where another tab signs in for this one. */
export const signInElsewhere = paths.again

async function finish(): Promise<void> {
  const client = await clientOf()
  const pending = takePending()
  if (!pending) {
    history.replaceState(null, "", paths.home)
    await leave({})
    return
  }
  const fresh = await redeem(client, new URL(location.href), pending)
  history.replaceState(null, "", pending.returnTo)
  await take(fresh)
  channel.postMessage("signed-in")
  if (pending.returnTo === paths.again) become({ status: "done" })
}

function takePending(): Pending | undefined {
  const stored = sessionStorage.getItem(pendingKey)
  sessionStorage.removeItem(pendingKey)
  if (stored === null) return undefined
  const { state, nonce, verifier, returnTo }: Record<string, unknown> = JSON.parse(stored)
  const isOwn = [base, account].some((each) => String(returnTo).startsWith(`${each}/`))
  const own = isOwn || returnTo === account ? String(returnTo) : paths.home
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

async function take(answer: Awaited<ReturnType<typeof redeem>>): Promise<void> {
  const claims = answer.claims()
  const id = claims?.sub ?? ""
  const before = session.status === "signed-in" ? session.person.id : lastPerson
  if ((before ?? sessionStorage.getItem(personKey) ?? id) !== id) removeDrafts()
  sessionStorage.setItem(personKey, id)
  // Whoever signed in meanwhile is somebody else: nothing of the person before stays in the page.
  if (before !== undefined && before !== id) {
    location.replace(paths.home)
    return
  }
  const { config } = await clientOf()
  const info = await oidc.fetchUserInfo(config(), answer.access_token, id)
  const loginName = info.preferred_username ?? id
  lastPerson = id
  tokens = { access: answer.access_token, id: answer.id_token ?? "" }
  sessionStorage.setItem(hintKey, tokens.id)
  arrival.resolve(tokens)
  const { name = loginName, picture } = info
  const sessionId = String(claims?.sid ?? "")
  become({ status: "signed-in", person: { id, name, loginName, picture, sessionId } })
}

let lastPerson: string | undefined

/** Ends the session at the server and comes back to the signed-out page, in every tab. */
export const signOut = (): Promise<void> =>
  orFail(async () => {
    const { config, home } = await clientOf()
    const url = oidc.buildEndSessionUrl(config(), {
      id_token_hint: tokens?.id ?? sessionStorage.getItem(hintKey) ?? "",
      post_logout_redirect_uri: home.origin + paths.signedOut,
    })
    leaveBehind()
    location.assign(url)
  })

/** The same for an account that is no more: there is nothing left to end at the server. */
export function signedOut(): void {
  leaveBehind()
  location.assign(paths.signedOut)
}

/** Whoever comes back comes to where they were: the console, or their account. */
function leaveBehind(): void {
  const isAccount = location.pathname.startsWith(account)
  sessionStorage.setItem(homeKey, isAccount ? account : paths.home)
  forget()
  channel.postMessage("signed-out")
}

function forget(): void {
  tokens = undefined
  arrival = Promise.withResolvers<Tokens>()
  sessionStorage.removeItem(hintKey)
  sessionStorage.removeItem(personKey)
  removeDrafts()
}

function failureOf(failure: unknown): Failure {
  if (
    failure instanceof oidc.AuthorizationResponseError ||
    failure instanceof oidc.ResponseBodyError
  )
    return { message: failure.error_description ?? failure.error }
  if (!(failure instanceof Error)) return { message: String(failure) }
  // The server said nothing of its clock, or that of the device was set meanwhile.
  if ("code" in failure && failure.code === timestampCheck) return "clock"
  // A browser says TypeError where nobody answered.
  return failure instanceof TypeError ? "unreachable" : { message: failure.message }
}

/** What openid-client calls a token that is from another time than now. */
const timestampCheck = "OAUTH_JWT_TIMESTAMP_CHECK_FAILED"
