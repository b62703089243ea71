import { type Adapter, Lucia, TimeSpan } from "lucia"
import { systemClock } from "../../kernel/clock.ts"
import { randomToken } from "../../kernel/crypto/random.ts"
import type { Cx, Transaction } from "../../store/index.ts"
import { instance } from "../instance/index.ts"
import { seenUserAgent } from "./check/given.ts"
import { type Proof, signIn } from "./commands.ts"
import { browser, lifetimes } from "./model.ts"

/** A browser as its cookie shows it. Nothing is stored of one in which nobody signed in yet. */
export type KnownBrowser = {
  readonly id: string
  /** Value of its cookie; form tokens hang from it. */
  readonly cookie: string
  /** Of the secret that was valid when the cookie was read; empty where nobody has signed in. */
  readonly hash: string
  readonly sessions: readonly string[]
  /** A Set-Cookie line that the answer must carry. */
  readonly setCookie?: string
  /** The one that it was until somebody signed in to it, if that is what its cookie still says. */
  readonly former?: Pick<KnownBrowser, "id" | "cookie" | "hash" | "sessions">
}

/**
 * Reads the browser's cookie, or makes one for a browser that is new, was away too long or brings
 * something that is not ours. `secure` says whether people come by https.
 */
export async function readBrowser(
  cx: Cx,
  secure: boolean,
  header: string | null,
): Promise<KnownBrowser> {
  const cookie = cookieIn(header ?? "", nameOf(secure))
  const [id, secret] = partsOf(cookie)
  const state = cx.store.state(cx, browser, id)
  if (state.status === "absent") {
    if (cx.secrets.matches(secret, id, unsignedAbout(cx)))
      return { id, cookie, hash: "", sessions: [] }
    return newBrowser(cx, secure)
  }
  const lucia = luciaOf(cx, secure)
  // lucia prolongs a session as long as it is used; the absolute lifetime is ours.
  const isWithin = cx.clock.now() < state.signedIn + lifetimes.browserMost
  const { session } = isWithin ? await lucia.validateSession(cookie) : { session: null }
  const known = { id, cookie, hash: state.hash, sessions: state.sessions }
  if (!session) {
    const isFormer = cx.secrets.matches(secret, id, unsignedAbout(cx))
    return { ...newBrowser(cx, secure), ...(isFormer && { former: known }) }
  }
  if (!session.fresh) return known
  return { ...known, setCookie: lucia.createSessionCookie(cookie).serialize() }
}

export type Entrance<Refusal extends object> = {
  readonly userId: string
  readonly secure: boolean
  /** What comes before it in the same step, and is all of it where it answers a refusal. */
  readonly first?: ((tx: Transaction) => Refusal | undefined) | undefined
  /** What was proved, as that has shown it; without a word a password. */
  readonly proof?: (() => Proof | undefined) | undefined
  /** Further parts of the same step. */
  readonly also: (tx: Transaction, sessionId: string) => void
}

/**
 * Signs a person in and gives the browser a new secret, in one step. Answers its cookie line, or
 * why nobody came in.
 */
export async function enterBrowser<Refusal extends object = never>(
  cx: Cx,
  { id: agentId, hash: former }: Pick<KnownBrowser, "id" | "hash">,
  { userId, secure, first, proof, also }: Entrance<Refusal>,
): Promise<string | Refusal> {
  const secret = randomToken(cx.random)
  const hash = cx.secrets.hash(secret, hashAbout(cx, agentId))
  const userAgent = seenUserAgent(cx)
  const step = await cx.store.transact(cx, (tx) => {
    const refusal = first?.(tx)
    if (refusal) return refusal
    also(tx, signIn(tx, { agentId, userId, hash, former, proof: proof?.(), userAgent }))
    return undefined
  })
  return step.value ?? luciaOf(cx, secure).createSessionCookie(`${agentId}.${secret}`).serialize()
}

/** The Set-Cookie line that makes a browser forget us. */
export const clearedCookie = (cx: Cx, secure: boolean): string =>
  luciaOf(cx, secure).createBlankSessionCookie().serialize()

/** What a form carries so that only pages we gave this browser can post. */
export const csrfOf = (cx: Cx, { cookie }: KnownBrowser): string => cx.secrets.hash(cookie, "csrf")

export const csrfMatches = (cx: Cx, { cookie }: KnownBrowser, token: string): boolean =>
  cx.secrets.matches(token, cookie, "csrf")

/**
 * The id of the browser that a form was made for, whose cookie may have been replaced since. It
 * opens nothing. Undefined for a form that is not ours.
 */
export function browserOfForm(
  cx: Cx,
  { secure, header, csrf }: { secure: boolean; header: string | null; csrf: string },
): string | undefined {
  const cookie = cookieIn(header ?? "", nameOf(secure))
  const isOurs = cx.secrets.matches(csrf, cookie, "csrf")
  return isOurs ? partsOf(cookie)[0] : undefined
}

/** Without a store behind it: the id is authenticated by its own keyed hash. */
function newBrowser(cx: Cx, secure: boolean): KnownBrowser {
  const id = cx.ids.next()
  const cookie = `${id}.${cx.secrets.hash(id, unsignedAbout(cx))}`
  const sameSite = `SameSite=${sameSiteOf(cx, secure)}`
  const attributes = ["HttpOnly", "Path=/", sameSite, ...(secure ? ["Secure"] : [])]
  const setCookie = [`${nameOf(secure)}=${cookie}`, ...attributes].join("; ")
  return { id, cookie, hash: "", sessions: [], setCookie }
}

/**
 * Whether pages of others may show ours in a frame: a browser brings the cookie there only if it is
 * for all sites, which wants https. Forms carry their own token, so it opens nothing by itself.
 */
const isEmbedded = (cx: Cx, secure: boolean): boolean =>
  secure && cx.store.state(cx, instance, cx.instance).security.enableIframeEmbedding

export const sameSiteOf = (cx: Cx, secure: boolean) => (isEmbedded(cx, secure) ? "None" : "Lax")

/** Ids may repeat across instances: a cookie of one must not count in another. */
const unsignedAbout = (cx: Cx) => `user_agent/${cx.instance}`
const hashAbout = (cx: Cx, agentId: string) => `user_agent/${cx.instance}/${agentId}`

/** Whether a request brings our cookie, whatever that is worth. */
export const bringsCookie = (header: string | null): boolean =>
  [true, false].some((secure) => cookieIn(header ?? "", nameOf(secure)) !== "")

/** `__Host-`: never sent by or to a sub-domain, never without https. */
const nameOf = (secure: boolean) => (secure ? "__Host-latchkey" : "latchkey")

/** Only our own cookie is looked at: what others set on this host may be spelled in any way. */
export function cookieIn(header: string, name: string): string {
  const pair = header.split(/; */).find((each) => each.startsWith(`${name}=`))
  return pair?.slice(name.length + 1) ?? ""
}

/** "<id>.<secret>"; two empty texts for anything else. */
function partsOf(cookie: string): readonly [id: string, secret: string] {
  const [, id = "", secret = ""] = /^(\d{1,20})\.([\w.-]{1,200})$/.exec(cookie) ?? []
  return [id, secret]
}

/**
 * lucia keeps the browser's session: its "user" is the user agent. It is handed an adapter for each
 * call, since ours knows time and instance from the call.
 */
const luciaOf = (cx: Cx, secure: boolean): Lucia =>
  new Lucia(adapterOf(cx), {
    sessionExpiresIn: new TimeSpan(lifetimes.browserIdle, "ms"),
    sessionCookie: {
      name: nameOf(secure),
      attributes: { secure, sameSite: isEmbedded(cx, secure) ? "none" : "lax" },
    },
  })

/** Stores hashes only: a session is found where the hash of the secret in its cookie is. */
const adapterOf = (cx: Cx): Adapter => ({
  getSessionAndUser: async (cookie) => {
    const [id, secret] = partsOf(cookie)
    const state = cx.store.state(cx, browser, id)
    const hashes = [state.hash, state.twin ?? ""]
    if (!hashes.some((hash) => cx.secrets.matches(hash, secret, hashAbout(cx, id)))) {
      return [null, null]
    }
    const expiresAt = onMachine(cx, state.renewed + lifetimes.browserIdle)
    const attributes = {}
    return [
      { id: cookie, userId: id, expiresAt, attributes },
      { id, attributes },
    ]
  },
  updateSessionExpiration: async (cookie) => {
    const [id] = partsOf(cookie)
    await cx.store.transact(cx, (tx) =>
      tx.append(browser, id, [{ type: "user_agent.renewed", data: {} }]),
    )
  },
  // A session begins in the step of its sign-in, which lucia does not know.
  setSession: () => Promise.reject(new Error("a session begins with a sign-in")),
  // An expired session is refused wherever it is used; its rows go with its stream.
  deleteSession: async () => undefined,
  deleteUserSessions: async () => undefined,
  deleteExpiredSessions: async () => undefined,
  getUserSessions: async () => [],
})

/** A time of the call's clock as one of the machine's, which lucia reads. */
const onMachine = ({ clock }: Cx, time: number): Date =>
  new Date(systemClock.now() + time - clock.now())
