import { type Adapter, Cookie, Lucia, TimeSpan } from "lucia"
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
  const { session } = await lucia.validateSession(cookie)
  const known = { id, cookie, hash: state.hash, sessions: state.sessions }
  if (!session) {
    const isFormer = cx.secrets.matches(secret, id, unsignedAbout(cx))
    return { ...newBrowser(cx, secure), ...(isFormer && { former: known }) }
  }
  if (!session.fresh) return known
  return { ...known, setCookie: keptCookie(lucia, cookie) }
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
  let refusal: Refusal | undefined
  const lucia = luciaOf(cx, secure, async ({ id }) => {
    const [, secret] = partsOf(id)
    const hash = cx.secrets.hash(secret, hashAbout(cx, agentId))
    const userAgent = seenUserAgent(cx)
    await cx.store.transact(cx, (tx) => {
      refusal = first?.(tx)
      if (refusal) return
      also(tx, signIn(tx, { agentId, userId, hash, former, proof: proof?.(), userAgent }))
    })
  })
  const sessionId = `${agentId}.${randomToken(cx.random)}`
  const session = await lucia.createSession(agentId, {}, { sessionId })
  return refusal ?? keptCookie(lucia, session.id)
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
function luciaOf(
  cx: Cx,
  secure: boolean,
  setSession: Adapter["setSession"] = () => Promise.reject(new Error("nobody signs in here")),
): Lucia {
  return new Lucia(adapterOf(cx, setSession), {
    sessionExpiresIn: luciaLifetime,
    sessionCookie: {
      name: nameOf(secure),
      attributes: { secure, sameSite: isEmbedded(cx, secure) ? "none" : "lax" },
    },
  })
}

/** The line that keeps a cookie for as long as the browser may stay away. */
function keptCookie(lucia: Lucia, value: string): string {
  const { name, attributes } = lucia.createSessionCookie(value)
  const maxAge = lifetimes.browserIdle / 1000
  return new Cookie(name, value, { ...attributes, maxAge }).serialize()
}

/**
 * lucia reads the machine's clock and renews in the second half of a lifetime. The call's clock is
 * what counts here, so lucia is told of a lifetime so long that we choose its half by the date.
 */
const luciaLifetime = new TimeSpan(20_000, "w")
const firstHalf = new Date(Date.UTC(2900, 0))
const secondHalf = new Date(Date.UTC(2160, 0))
const renewedAfter = 86_400_000

/** Only hashes are stored, and our own clock decides what has expired. */
function adapterOf(cx: Cx, setSession: Adapter["setSession"]): Adapter {
  const read = (cookie: string) => {
    const [id, secret] = partsOf(cookie)
    const state = cx.store.state(cx, browser, id)
    const about = hashAbout(cx, id)
    const hashes = [state.hash, state.twin ?? ""]
    const isMine = hashes.some((hash) => cx.secrets.matches(hash, secret, about))
    return isMine && cx.clock.now() < state.expires ? { id, state } : undefined
  }
  return {
    setSession,
    getSessionAndUser: async (cookie) => {
      const found = read(cookie)
      if (!found) return [null, null]
      const age = cx.clock.now() - found.state.renewed
      const expiresAt = age >= renewedAfter ? secondHalf : firstHalf
      const attributes = {}
      return [
        { id: cookie, userId: found.id, expiresAt, attributes },
        { id: found.id, attributes },
      ]
    },
    updateSessionExpiration: async (cookie) => {
      const [id] = partsOf(cookie)
      await cx.store.transact(cx, (tx) =>
        tx.append(browser, id, [{ type: "user_agent.renewed", data: {} }]),
      )
    },
    // An expired session is refused wherever it is used; its rows go with its stream.
    deleteSession: async () => undefined,
    deleteUserSessions: async () => undefined,
    deleteExpiredSessions: async () => undefined,
    getUserSessions: async () => [],
  }
}
