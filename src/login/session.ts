import { type AuthMethod, noteScripted } from "../domain/action/index.ts"
import { authRequest, linkSession, refundPushed } from "../domain/grant/index.ts"
import { requireInstance } from "../domain/instance/index.ts"
import { isOrgActive } from "../domain/org/index.ts"
import {
  csrfMatches,
  deviceCookie,
  enterBrowser,
  type KnownBrowser,
  type Proof,
  readBrowser,
  type Session,
  session,
  sessionNow,
} from "../domain/session/index.ts"
import { user } from "../domain/user-model/index.ts"
import { isSameOrigin } from "../kernel/net/host.ts"
import type { Cx, Transaction } from "../store/index.ts"
import { queueNoticeOfNewDevice } from "./entered/new-device.ts"
import { askedOnEntry } from "./entered/script.ts"
import type { Present } from "./flow.ts"
import { answerWithin, type Waiting, waitingRequest } from "./request.ts"

// What the browser's sign-in sessions contain, and the commands on them.

/** One request of one browser to the pages. */
export type BrowserContext = {
  readonly issuer: string
  readonly secure: boolean
  readonly browser: KnownBrowser
  /** The cookies that it came with. */
  readonly header: string | null
  /** Who is signed in here, oldest sign-in first. */
  readonly present: readonly Present[]
}

/** Reads who comes. */
export async function browserContextOf(cx: Cx, request: Request): Promise<BrowserContext> {
  const issuer = requireInstance(cx).publicUrl
  const secure = issuer.startsWith("https:")
  const header = request.headers.get("cookie")
  const browser = await readBrowser(cx, secure, header)
  return { issuer, secure, browser, header, present: presentIn(cx, browser) }
}

/** The people who are signed in to a browser now. */
export const presentIn = (cx: Cx, { sessions }: Pick<KnownBrowser, "sessions">): Present[] =>
  sessions.flatMap((id) => presentBy(cx, id) ?? [])

/** Who is signed in by a session now; undefined where nobody is. */
export function presentBy(cx: Cx, id: string): Present | undefined {
  const usable = sessionNow(cx, id)
  return usable && isHomeActive(cx, usable.userId) ? presentOf(id, usable) : undefined
}

/** A session as the flow looks at it. */
export const presentOf = (
  id: string,
  { userId, authTime, checks, userVerified, vouched }: Session,
): Present => ({ id, userId, authTime, checks, userVerified, ...(vouched && { vouched }) })

/** Whether nobody has stopped the organisation that a person belongs to. */
export const isHomeActive = (cx: Cx, userId: string): boolean =>
  isOrgActive(cx, cx.store.receipt(cx, user, userId)?.owner ?? "")

/** Whether a form was posted from a page that we gave to this very browser. */
export function isOwnForm(
  cx: Cx,
  browserContext: BrowserContext,
  posted: { request: Request; csrf: string },
) {
  const origin = posted.request.headers.get("origin")
  const isForeign = origin !== null && !isSameOrigin(origin, browserContext.issuer)
  if (isForeign && origin !== "null") return false
  return csrfMatches(cx, browserContext.browser, posted.csrf)
}

/** What a sign-in needs to know of the page that it happens on. */
export type SignInContext = {
  readonly cx: Cx
  readonly request: Request
  readonly browserContext: BrowserContext
  /** Absent where somebody signs in without an application to go to. */
  readonly waiting: Waiting | undefined
}

/** Who signs in, and what comes before that in the same step; see `enterBrowser`. */
export type SignInOptions<Refusal extends object> = {
  readonly userId: string
  readonly first: (tx: Transaction) => Refusal | undefined
  /** What that has shown to be proved; without a word a password. */
  readonly proof?: () => Proof | undefined
  /** Where they are stopped on their way to be told something; they go on from there. */
  readonly stopAt?: () => string | undefined
  /**
   * How they prove who they are, for scripts, which may keep them out; undefined where scripts of
   * other moments are asked: of who comes from a provider, or has just been made.
   */
  readonly method: AuthMethod | undefined
}

/** What a sign-in has come to. */
export type SignInResult<Refusal> =
  | { readonly kind: "refused"; readonly refusal: Refusal }
  /** `answered`: the request is, in the same step; `next`: something may still be left to do. */
  | {
      readonly kind: "answered" | "next"
      /** Set-Cookie lines: the browser has another secret, and is known to this person. */
      readonly cookies: readonly string[]
      /** Where they are stopped on their way. */
      readonly stop?: string | undefined
    }

/**
 * Signs a person in to the browser of the context, which gets another secret by it. Where nothing
 * else is to be done, the request is answered in the same step.
 */
export async function signIn<Refusal extends object>(
  context: SignInContext,
  { userId, first, proof, stopAt, method }: SignInOptions<Refusal>,
): Promise<SignInResult<Refusal>> {
  const { cx, browserContext, waiting } = context
  const noted = await askedOnEntry(context, { userId, first, method, proof })
  let isAnswered = false
  // A double click has posted the form twice, and the other one was faster.
  let wasAnswered = false
  const entered = await enterBrowser<Refusal>(cx, browserContext.browser, {
    userId,
    secure: browserContext.secure,
    first,
    proof,
    also: (tx, id) => {
      noteScripted(cx, tx, { userId, orgId: tx.owner(user, userId), noted })
      queueNoticeOfNewDevice(tx, context, { userId, proof: proof?.() })
      if (!waiting) return
      // As things stand now: a password takes its time, and other tabs go on meanwhile.
      const isHome = isHomeActive(cx, userId)
      const now = isHome ? waitingRequest(cx, browserContext, waiting.id) : undefined
      const present = presentOf(id, tx.state(session, id))
      const goesOn = now !== undefined && stopAt?.() === undefined
      isAnswered = goesOn && answerWithin(cx, tx, now, present)
      wasAnswered = isHome && !isAnswered && isAnsweredBy(tx, waiting.id, id)
      if (!isAnswered && !wasAnswered) linkSession(tx, waiting.id, id)
    },
  })
  if (typeof entered !== "string") return { kind: "refused", refusal: entered }
  // What was kept while its person signed in has come to a good end.
  if (isAnswered && waiting) {
    cx.allowance?.refund("request")
    refundPushed(cx, waiting.asked)
  }
  const cookies = [entered, deviceCookie(cx, browserContext, userId)]
  if (isAnswered || wasAnswered) return { kind: "answered", cookies }
  return { kind: "next", cookies, stop: stopAt?.() }
}

function isAnsweredBy(tx: Transaction, id: string, sessionId: string): boolean {
  const state = tx.state(authRequest, id)
  return state.status === "answered" && state.sessionId === sessionId
}

/** Has a request go on with an account that is signed in here. */
export async function chooseSession(cx: Cx, requestId: string, sessionId: string): Promise<void> {
  await cx.store.transact(cx, (tx) => linkSession(tx, requestId, sessionId))
}
