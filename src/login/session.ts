import { type AuthMethod, storeScriptMetadata } from "../domain/action/index.ts"
import { authRequest, linkSession, refundPushedRequest } from "../domain/grant/index.ts"
import { requireInstance } from "../domain/instance/index.ts"
import { isOrgActive } from "../domain/org/index.ts"
import {
  type BrowserState,
  deviceCookieOf,
  enterBrowser,
  findSession,
  isValidCsrfToken,
  readBrowser,
  type Session,
  type SignInProof,
  session,
} from "../domain/session/index.ts"
import { user } from "../domain/user-model/index.ts"
import { isSameOrigin } from "../kernel/net/host.ts"
import type { Cx, Transaction } from "../store/index.ts"
import type { PresentSession } from "./flow.ts"
import { completeWithin, findPendingRequest, type PendingRequest } from "./request.ts"
import { queueNoticeOfNewDevice } from "./sign-in/new-device.ts"
import { runSignInScripts } from "./sign-in/script.ts"

// The sign-in sessions of a browser, and the commands on them.

/** The browser of a request to the login pages. */
export type BrowserContext = {
  readonly issuer: string
  readonly secure: boolean
  readonly browser: BrowserState
  /** The Cookie header of the request. */
  readonly header: string | null
  /** The sessions in this browser, oldest sign-in first. */
  readonly present: readonly PresentSession[]
}

/** Reads the browser and its sessions from the request. */
export async function loadBrowserContext(cx: Cx, request: Request): Promise<BrowserContext> {
  const issuer = requireInstance(cx).publicUrl
  const secure = issuer.startsWith("https:")
  const header = request.headers.get("cookie")
  const browser = await readBrowser(cx, secure, header)
  return { issuer, secure, browser, header, present: sessionsInBrowser(cx, browser) }
}

/** The current sessions in a browser. */
export const sessionsInBrowser = (
  cx: Cx,
  { sessions }: Pick<BrowserState, "sessions">,
): PresentSession[] => sessions.flatMap((id) => findPresentSession(cx, id) ?? [])

/** A current session by ID; undefined if it is not usable. */
export function findPresentSession(cx: Cx, id: string): PresentSession | undefined {
  const usable = findSession(cx, id)
  return usable && isUserOrgActive(cx, usable.userId) ? presentSessionOf(id, usable) : undefined
}

/** A session as the flow needs it. */
export const presentSessionOf = (
  id: string,
  { userId, authTime, checks, userVerified, vouched }: Session,
): PresentSession => ({ id, userId, authTime, checks, userVerified, ...(vouched && { vouched }) })

/** Whether the organization of a user is active. */
export const isUserOrgActive = (cx: Cx, userId: string): boolean =>
  isOrgActive(cx, cx.store.receipt(cx, user, userId)?.owner ?? "")

/** Whether a form was posted from a page that this browser received. */
export function isOwnForm(
  cx: Cx,
  browserContext: BrowserContext,
  posted: { request: Request; csrf: string },
) {
  const origin = posted.request.headers.get("origin")
  const isForeign = origin !== null && !isSameOrigin(origin, browserContext.issuer)
  if (isForeign && origin !== "null") return false
  return isValidCsrfToken(cx, browserContext.browser, posted.csrf)
}

/** The context of a sign-in. */
export type SignInContext = {
  readonly cx: Cx
  readonly request: Request
  readonly browserContext: BrowserContext
  /** Absent if the user signs in without an application. */
  readonly waiting: PendingRequest | undefined
}

/** The user, and what precedes the sign-in in the same transaction; see `enterBrowser`. */
export type SignInOptions<Refusal extends object> = {
  readonly userId: string
  readonly first: (tx: Transaction) => Refusal | undefined
  /** The proof, as determined by `first`; a password by default. */
  readonly proof?: () => SignInProof | undefined
  /** The path of a page to show in between, such as a warning; the user continues from there. */
  readonly stopAt?: () => string | undefined
  /**
   * How the user authenticates, for scripts that can deny the sign-in; undefined if other scripts
   * run: after a provider sign-in, or for a new user.
   */
  readonly method: AuthMethod | undefined
}

/** The result of a sign-in. */
export type SignInResult<Refusal> =
  | { readonly kind: "refused"; readonly refusal: Refusal }
  /** `answered`: the same transaction completed the request; `next`: further steps may follow. */
  | {
      readonly kind: "answered" | "next"
      /** Set-Cookie headers: the browser has a new secret, and remembers this user. */
      readonly cookies: readonly string[]
      /** The path of a page to show in between. */
      readonly stop?: string | undefined
    }

/**
 * Signs in a user in the browser of the context, which receives a new secret. If nothing else is
 * required, the same transaction completes the request.
 */
export async function signIn<Refusal extends object>(
  context: SignInContext,
  { userId, first, proof, stopAt, method }: SignInOptions<Refusal>,
): Promise<SignInResult<Refusal>> {
  const { cx, browserContext, waiting } = context
  const noted = await runSignInScripts(context, { userId, first, method, proof })
  let isAnswered = false
  // A double click posted the form twice, and the other request was faster.
  let wasAnswered = false
  const entered = await enterBrowser<Refusal>(cx, browserContext.browser, {
    userId,
    secure: browserContext.secure,
    first,
    proof,
    also: (tx, id) => {
      storeScriptMetadata(cx, tx, { userId, orgId: tx.owner(user, userId), noted })
      queueNoticeOfNewDevice(tx, context, { userId, proof: proof?.() })
      if (!waiting) return
      // Read again: checking a password takes time, and other tabs continue meanwhile.
      const isHome = isUserOrgActive(cx, userId)
      const now = isHome ? findPendingRequest(cx, browserContext, waiting.id) : undefined
      const present = presentSessionOf(id, tx.state(session, id))
      const isLastStep = now !== undefined && stopAt?.() === undefined
      isAnswered = isLastStep && completeWithin(cx, tx, now, present)
      wasAnswered = isHome && !isAnswered && isAnsweredBy(tx, waiting.id, id)
      if (!isAnswered && !wasAnswered) linkSession(tx, waiting.id, id)
    },
  })
  if (typeof entered !== "string") return { kind: "refused", refusal: entered }
  // A completed request no longer counts toward the rate limit.
  if (isAnswered && waiting) {
    cx.allowance?.refund("request")
    refundPushedRequest(cx, waiting.asked)
  }
  const cookies = [entered, deviceCookieOf(cx, browserContext, userId)]
  if (isAnswered || wasAnswered) return { kind: "answered", cookies }
  return { kind: "next", cookies, stop: stopAt?.() }
}

function isAnsweredBy(tx: Transaction, id: string, sessionId: string): boolean {
  const state = tx.state(authRequest, id)
  return state.status === "answered" && state.sessionId === sessionId
}

/** Continues a request with an account that is signed in here. */
export async function selectSession(cx: Cx, requestId: string, sessionId: string): Promise<void> {
  await cx.store.transact(cx, (tx) => linkSession(tx, requestId, sessionId))
}
