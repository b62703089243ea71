import { type Adapter, Lucia, TimeSpan } from "lucia"
import { systemClock } from "../../kernel/clock.ts"
import { randomToken } from "../../kernel/crypto/random.ts"
import type { Cx, Transaction } from "../../store/index.ts"
import { instance } from "../instance/index.ts"
import { userAgentOf } from "./check/input.ts"
import { type SignInProof, signIn } from "./commands.ts"
import { browser, lifetimes } from "./model.ts"

/** A browser as identified by its cookie. Nothing is stored for a browser until a user signs in. */
export type BrowserState = {
  readonly id: string
  /** The value of the cookie; CSRF tokens are derived from it. */
  readonly cookie: string
  /** Hash of the secret that was valid when the cookie was read; empty if no user has signed in. */
  readonly hash: string
  readonly sessions: readonly string[]
  /** The Set-Cookie header that the response must contain. */
  readonly setCookie?: string
  /** The browser before its last sign-in, if the cookie is still from then. */
  readonly previous?: Pick<BrowserState, "id" | "cookie" | "hash" | "sessions">
}

/**
 * Reads the browser's cookie, or creates one if it is absent, expired or invalid. `secure`: whether
 * the request came by https.
 */
export async function readBrowser(
  cx: Cx,
  secure: boolean,
  header: string | null,
): Promise<BrowserState> {
  const cookie = findCookie(header ?? "", cookieName(secure))
  const [id, secret] = parseCookie(cookie)
  const state = cx.store.state(cx, browser, id)
  if (state.status === "absent") {
    if (cx.secrets.matches(secret, id, unsignedHashContext(cx)))
      return { id, cookie, hash: "", sessions: [] }
    return newBrowser(cx, secure)
  }
  const lucia = luciaOf(cx, secure)
  // lucia extends a session as long as it is used; the absolute lifetime is enforced here.
  const isWithin = cx.clock.now() < state.signedIn + lifetimes.browserMost
  const { session } = isWithin ? await lucia.validateSession(cookie) : { session: null }
  const browserState = { id, cookie, hash: state.hash, sessions: state.sessions }
  if (!session) {
    const isFormer = cx.secrets.matches(secret, id, unsignedHashContext(cx))
    return { ...newBrowser(cx, secure), ...(isFormer && { previous: browserState }) }
  }
  if (!session.fresh) return browserState
  return { ...browserState, setCookie: lucia.createSessionCookie(cookie).serialize() }
}

export type EnterBrowserInput<Refusal extends object> = {
  readonly userId: string
  readonly secure: boolean
  /** Runs first in the transaction; if it returns a failure, nothing else happens. */
  readonly first?: ((tx: Transaction) => Refusal | undefined) | undefined
  /** The verified proof, as determined by `first`; a password by default. */
  readonly proof?: (() => SignInProof | undefined) | undefined
  /** Further parts of the same transaction. */
  readonly also: (tx: Transaction, sessionId: string) => void
}

/**
 * Signs in a user and gives the browser a new secret, in one transaction. Returns the Set-Cookie
 * header, or why the sign-in failed.
 */
export async function enterBrowser<Refusal extends object = never>(
  cx: Cx,
  { id: agentId, hash: previousHash }: Pick<BrowserState, "id" | "hash">,
  { userId, secure, first, proof, also }: EnterBrowserInput<Refusal>,
): Promise<string | Refusal> {
  const secret = randomToken(cx.random)
  const hash = cx.secrets.hash(secret, hashContextOf(cx, agentId))
  const userAgent = userAgentOf(cx)
  const step = await cx.store.transact(cx, (tx) => {
    const refusal = first?.(tx)
    if (refusal) return refusal
    also(tx, signIn(tx, { agentId, userId, hash, previousHash, proof: proof?.(), userAgent }))
    return undefined
  })
  return step.value ?? luciaOf(cx, secure).createSessionCookie(`${agentId}.${secret}`).serialize()
}

/** The Set-Cookie header that deletes the cookie. */
export const deletionCookie = (cx: Cx, secure: boolean): string =>
  luciaOf(cx, secure).createBlankSessionCookie().serialize()

/** The CSRF token for forms on pages that this browser received. */
export const csrfTokenOf = (cx: Cx, { cookie }: BrowserState): string =>
  cx.secrets.hash(cookie, "csrf")

export const isValidCsrfToken = (cx: Cx, { cookie }: BrowserState, token: string): boolean =>
  cx.secrets.matches(token, cookie, "csrf")

/**
 * The ID of the browser that a form was created for, whose cookie may have been replaced since. It
 * grants no access. Undefined for an invalid token.
 */
export function findBrowserOfForm(
  cx: Cx,
  { secure, header, csrf }: { secure: boolean; header: string | null; csrf: string },
): string | undefined {
  const cookie = findCookie(header ?? "", cookieName(secure))
  const isOurs = cx.secrets.matches(csrf, cookie, "csrf")
  return isOurs ? parseCookie(cookie)[0] : undefined
}

/** Needs no stored state: a keyed hash authenticates the ID. */
function newBrowser(cx: Cx, secure: boolean): BrowserState {
  const id = cx.ids.next()
  const cookie = `${id}.${cx.secrets.hash(id, unsignedHashContext(cx))}`
  const sameSite = `SameSite=${sameSiteOf(cx, secure)}`
  const attributes = ["HttpOnly", "Path=/", sameSite, ...(secure ? ["Secure"] : [])]
  const setCookie = [`${cookieName(secure)}=${cookie}`, ...attributes].join("; ")
  return { id, cookie, hash: "", sessions: [], setCookie }
}

/**
 * Whether other sites can embed our pages in a frame. Browsers send the cookie there only with
 * SameSite=None, which requires https. Forms contain a CSRF token, so the cookie alone permits
 * nothing.
 */
const isEmbedded = (cx: Cx, secure: boolean): boolean =>
  secure && cx.store.state(cx, instance, cx.instance).security.enableIframeEmbedding

export const sameSiteOf = (cx: Cx, secure: boolean) => (isEmbedded(cx, secure) ? "None" : "Lax")

/** IDs may repeat across instances: a cookie of one instance must not be valid in another. */
const unsignedHashContext = (cx: Cx) => `user_agent/${cx.instance}`
const hashContextOf = (cx: Cx, agentId: string) => `user_agent/${cx.instance}/${agentId}`

/** Whether a request contains our cookie, valid or not. */
export const hasCookie = (header: string | null): boolean =>
  [true, false].some((secure) => findCookie(header ?? "", cookieName(secure)) !== "")

/** `__Host-`: never sent by or to a subdomain, never without https. */
const cookieName = (secure: boolean) => (secure ? "__Host-latchkey" : "latchkey")

/**
 * Reads only our own cookie, because cookies of other applications on this host may be malformed.
 */
export function findCookie(header: string, name: string): string {
  const pair = header.split(/; */).find((each) => each.startsWith(`${name}=`))
  return pair?.slice(name.length + 1) ?? ""
}

/** "<id>.<secret>"; two empty strings for anything else. */
function parseCookie(cookie: string): readonly [id: string, secret: string] {
  const [, id = "", secret = ""] = /^(\d{1,20})\.([\w.-]{1,200})$/.exec(cookie) ?? []
  return [id, secret]
}

/**
 * lucia manages the browser session: its "user" is the user agent. Each call has its own adapter,
 * because the adapter needs the call's clock and instance.
 */
const luciaOf = (cx: Cx, secure: boolean): Lucia =>
  new Lucia(adapterOf(cx), {
    sessionExpiresIn: new TimeSpan(lifetimes.browserIdle, "ms"),
    sessionCookie: {
      name: cookieName(secure),
      attributes: { secure, sameSite: isEmbedded(cx, secure) ? "none" : "lax" },
    },
  })

/** Stores only hashes: a session is found by the hash of the secret in the cookie. */
const adapterOf = (cx: Cx): Adapter => ({
  getSessionAndUser: async (cookie) => {
    const [id, secret] = parseCookie(cookie)
    const state = cx.store.state(cx, browser, id)
    const hashes = [state.hash, state.twin ?? ""]
    if (!hashes.some((hash) => cx.secrets.matches(hash, secret, hashContextOf(cx, id)))) {
      return [null, null]
    }
    const expiresAt = toSystemTime(cx, state.renewed + lifetimes.browserIdle)
    const attributes = {}
    return [
      { id: cookie, userId: id, expiresAt, attributes },
      { id, attributes },
    ]
  },
  updateSessionExpiration: async (cookie) => {
    const [id] = parseCookie(cookie)
    await cx.store.transact(cx, (tx) =>
      tx.append(browser, id, [{ type: "user_agent.renewed", data: {} }]),
    )
  },
  // The sign-in transaction creates sessions, which lucia has no method for.
  setSession: () => Promise.reject(new Error("sessions are created by a sign-in")),
  // Expired sessions are rejected on use; their rows are deleted with their streams.
  deleteSession: async () => undefined,
  deleteUserSessions: async () => undefined,
  deleteExpiredSessions: async () => undefined,
  getUserSessions: async () => [],
})

/** Converts a time of the call's clock to the system clock, which lucia reads. */
const toSystemTime = ({ clock }: Cx, time: number): Date =>
  new Date(systemClock.now() + time - clock.now())
