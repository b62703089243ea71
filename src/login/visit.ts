import { findClient } from "../domain/app/index.ts"
import { type Asked, authRequest, requestLifetimes } from "../domain/grant/index.ts"
import { requireInstance } from "../domain/instance/index.ts"
import { isOrgActive } from "../domain/org/index.ts"
import { csrfMatches, type KnownBrowser, readBrowser, sessionNow } from "../domain/session/index.ts"
import { findByLoginName, user } from "../domain/user/index.ts"
import type { Cx } from "../store/index.ts"
import type { Present, Wanted } from "./flow.ts"

/** One request of one browser to the pages. */
export type Visit = {
  readonly issuer: string
  readonly secure: boolean
  readonly browser: KnownBrowser
  /** Who is signed in here, oldest sign-in first. */
  readonly present: readonly Present[]
}

/** Reads who comes. */
export async function visitOf(cx: Cx, request: Request): Promise<Visit> {
  const issuer = requireInstance(cx).publicUrl
  const secure = issuer.startsWith("https:")
  const browser = await readBrowser(cx, secure, request.headers.get("cookie"))
  return { issuer, secure, browser, present: presentIn(cx, browser) }
}

/** The people who are signed in to a browser now. */
export function presentIn(cx: Cx, { sessions }: Pick<KnownBrowser, "sessions">): Present[] {
  return sessions.flatMap((id) => {
    const usable = sessionNow(cx, id)
    return usable && isHomeActive(cx, usable.userId)
      ? [{ id, userId: usable.userId, authTime: usable.authTime }]
      : []
  })
}

/** Whether nobody has stopped the organisation that a person belongs to. */
export const isHomeActive = (cx: Cx, userId: string): boolean =>
  isOrgActive(cx, cx.store.receipt(cx, user, userId)?.owner ?? "")

/** A request to sign somebody in that still waits in this browser. */
export type Waiting = {
  readonly id: string
  readonly asked: Asked
  readonly loginHint: string
  readonly wanted: Wanted
}

/** The open request with this id. Undefined for one that is over, or another browser's. */
export function waitingRequest(cx: Cx, visit: Visit, id: string): Waiting | undefined {
  const state = cx.store.state(cx, authRequest, id)
  if (state.status !== "open" || state.agentId !== visit.browser.id) return undefined
  if (cx.clock.now() >= state.created + requestLifetimes.request) return undefined
  const { asked, loginHint, created, sessionId } = state
  return { id, asked, loginHint, wanted: wantedOf(cx, asked, { loginHint, created, sessionId }) }
}

type Rest = Pick<Wanted, "created" | "sessionId"> & { readonly loginHint: string }

/** What the flow must know of a request. */
export function wantedOf(cx: Cx, asked: Asked, { loginHint, created, sessionId }: Rest): Wanted {
  // A name that is nobody's suggests nobody here, like that of somebody who is elsewhere.
  const suggestedUser = loginHint === "" ? undefined : (findByLoginName(cx, loginHint) ?? "")
  return { ...asked, suggestedUser, created, sessionId }
}

/** Whether a form was posted from a page that we gave to this very browser. */
export function isOwnForm(cx: Cx, visit: Visit, posted: { request: Request; csrf: string }) {
  const origin = posted.request.headers.get("origin")
  if (origin !== null && origin !== "null" && origin !== visit.issuer) return false
  return csrfMatches(cx, visit.browser, posted.csrf)
}

/** Name of an application as people know it; empty where it is gone. */
export const applicationName = (cx: Cx, clientId: string): string =>
  findClient(cx, clientId)?.state.name ?? ""
