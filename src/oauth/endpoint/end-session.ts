import { findClient } from "../../domain/app/index.ts"
import { addSamlLogout, samlLogoutPath, untoldOf } from "../../domain/grant/index.ts"
import { csrfOf, endSession as end, session } from "../../domain/session/index.ts"
import {
  accountOf,
  type BrowserContext,
  browserContextOf,
  isOwnForm,
  loginPaths,
  lookOrgOf,
  notesFor,
  showContinue,
} from "../../login/index.ts"
import { wantsPage } from "../../protocol/accept.ts"
import type { Cx } from "../../store/index.ts"
import { isStranger, showStranger } from "../authorize/stranger.ts"
import { loginPageOf } from "../handed/login-page.ts"
import { paths } from "../issuer.ts"
import {
  backEndSession,
  isHintedLive,
  mayBeProgram,
  nothingEndedError,
} from "../logout/back-end.ts"
import { logoutFrames } from "../logout/front-channel.ts"
import { type Logout, logoutOf, logoutParameters } from "../logout/request.ts"
import { type Parameters, parametersOf } from "../request.ts"
import { redirect } from "../response.ts"
import type { Asking, Endpoint } from "./endpoint.ts"

/** OpenID Connect RP-Initiated Logout §2. */
export const endSession: Endpoint = {
  methods: ["GET", "POST"],
  anyOrigin: false,
  answer: async (asking) => {
    const { cx, request, url } = asking
    const posted = request.method === "POST"
    const search = posted ? await asking.form() : new URLSearchParams()
    const parameters = parametersOf(new URLSearchParams([...url.searchParams, ...search]))
    const browserContext = await browserContextOf(cx, request)
    const left = departures.of({ cx, request, browserContext })
    if (!posted && left) return leave(asking, browserContext, { ...left, isAfterForm: true })
    const csrf = parameters.get("csrf")
    const isAfterForm = posted && csrf !== undefined
    const isProgram = !isAfterForm && mayBeProgram(request)
    if (isProgram && parameters.has("id_token_hint")) await endByBackEnd(cx, parameters)
    // A form from another site comes without our cookie (SameSite=Lax); a GET brings it.
    if (posted && !isAfterForm && browserContext.browser.setCookie !== undefined) {
      return redirect(withParameters(paths.endSession, parameters))
    }
    const named = logoutOf(cx, parameters)
    const { asked, stranger } = strangerApart(cx, browserContext, named)
    const confirmed = isAfterForm && isOwnForm(cx, browserContext, { request, csrf })
    const handed = handedSession(cx, asked)
    const page = handed ? undefined : logoutPage(cx, asked, parameters)
    if (page !== undefined) return redirect(page, browserContext.browser.setCookie)
    const sessions = handed ?? sessionsToEnd(browserContext, asked, confirmed)
    if (sessions === "ask") {
      return askFirst(asking, browserContext, {
        ...asked,
        again: withParameters(paths.endSession, parameters),
      })
    }
    if (sessions.length === 0 && isHintedLive(cx, named)) {
      if (isProgram && !wantsPage(request)) throw nothingEndedError(cx, named)
      if (named.location === loginPaths.signedOut) {
        return redirect(loginPaths.nobodyHere, browserContext.browser.setCookie)
      }
    }
    const next = await ended(cx, sessions, asked.location)
    const { application, clientId, languages, location } = asked
    const leaving = { application, clientId, languages, location, next, sessions, stranger }
    return isAfterForm
      ? departures.next({ cx, request, browserContext }, leaving)
      : leave(asking, browserContext, { ...leaving, isAfterForm })
  },
}

/** Where the browser goes once its person has confirmed: to a page, which no form has led to. */
const departures = notesFor<Departure>(paths.endSession)

/** Ends what the back end of an application ends, before it is seen who is signed in here. */
async function endByBackEnd(cx: Cx, parameters: Parameters): Promise<void> {
  const id = backEndSession(cx, logoutOf(cx, parameters))
  if (id !== undefined) await cx.store.transact(cx, (tx) => end(tx, id))
}

type Apart = { readonly asked: Logout; readonly stranger?: string }

/**
 * An address that is a stranger's is for the person to decide about, unless the hint is that of
 * somebody who is here: they have let the application in, and it sends them on.
 */
function strangerApart(cx: Cx, { present }: BrowserContext, asked: Logout): Apart {
  const { location, clientId, sessionId, userId } = asked
  const appId = clientId === undefined ? undefined : findClient(cx, clientId)?.appId
  if (appId === undefined || location === loginPaths.signedOut) return { asked }
  const isHinted = present.some(({ id, userId: user }) => id === sessionId || user === userId)
  if (isHinted || !isStranger(cx, { appId, uri: location, here: [] })) return { asked }
  return { asked: { ...asked, location: loginPaths.signedOut }, stranger: location }
}

/** Ends sessions; answers where the browser goes: past the applications that speak SAML. */
async function ended(cx: Cx, sessions: readonly string[], location: string): Promise<string> {
  const untold = untoldOf(cx, sessions)
  const afterwards = { kind: "location", url: location } as const
  const step = await cx.store.transact(cx, (tx) => {
    for (const id of sessions) end(tx, id)
    return untold.length > 0 ? addSamlLogout(tx, cx, { untold, afterwards }) : undefined
  })
  return step.value === undefined ? location : samlLogoutPath(step.value)
}

/**
 * The session that the hint names, where a login page of somebody else keeps it: the browser shows
 * us nothing of that, and the id_token is the proof that the application speaks for the person.
 */
function handedSession(cx: Cx, { sessionId = "" }: Logout): readonly string[] | undefined {
  const { status, creatorId } = cx.store.state(cx, session, sessionId)
  return status === "active" && creatorId !== undefined ? [sessionId] : undefined
}

/** Where an application's people sign out that a login page of somebody else keeps signed in. */
function logoutPage(
  cx: Cx,
  { clientId, location }: Logout,
  parameters: Parameters,
): string | undefined {
  const page = clientId === undefined ? undefined : loginPageOf(cx, { clientId })
  if (page === undefined) return undefined
  const kept = ["logout_hint", "ui_locales"].flatMap((name) => {
    const value = parameters.get(name)
    return value === undefined ? [] : [[name, value]]
  })
  const isTheirs = location !== loginPaths.signedOut
  const back = isTheirs ? [["post_logout_redirect", location]] : []
  const query = new URLSearchParams([...back, ...kept]).toString()
  return `${page}/logout${query && `?${query}`}`
}

/**
 * The session that the hint names ends by itself. §2: without proof that the application speaks for
 * this person, the person is asked; then what they see on the page ends.
 */
function sessionsToEnd(
  browserContext: BrowserContext,
  asked: Logout,
  confirmed: boolean,
): readonly string[] | "ask" {
  const { present, browser } = browserContext
  if (confirmed) {
    const meant = meantOf(browserContext, asked)
    return meant.length === present.length ? browser.sessions : meant.map(({ id }) => id)
  }
  const { sessionId, userId } = asked
  const hinted = present.filter(({ id, userId: user }) => id === sessionId || user === userId)
  if (hinted.length > 0) return hinted.map(({ id }) => id)
  return present.length > 0 ? "ask" : []
}

/** Those whom logout_hint names, where they are here; else everybody. */
function meantOf({ present }: BrowserContext, { meantUser }: Logout): BrowserContext["present"] {
  const meant = present.filter(({ userId }) => userId === meantUser)
  return meant.length > 0 ? meant : present
}

/**
 * The address again, with what was asked for. What else a form has, a client secret or our own
 * token, stays out of addresses, which logs and the history keep.
 */
function withParameters(path: string, parameters: Parameters): string {
  const kept = logoutParameters.flatMap((name) => {
    const value = parameters.get(name)
    return value === undefined ? [] : [[name, value]]
  })
  return kept.length === 0 ? path : `${path}?${new URLSearchParams(kept)}`
}

/** How a browser leaves when its sessions have ended. */
type Departure = Pick<Logout, "application" | "clientId" | "languages" | "location"> & {
  /** Those that ended. */
  readonly sessions: readonly string[]
  /** Where the browser goes first; else to the location. */
  readonly next: string
  /** Where the application wants it to go, that nobody vouches for. */
  readonly stranger: string | undefined
}

/** Sends the browser on; where applications have pages of their own for this, past those. */
function leave(
  { cx, show }: Asking,
  browserContext: BrowserContext,
  left: Departure & { readonly isAfterForm: boolean },
): Promise<Response> | Response {
  const { location, next, sessions, stranger, application = "", isAfterForm } = left
  const frames = logoutFrames(cx, sessions)
  const cookies = [browserContext.browser.setCookie]
  if (frames.length > 0 || next !== location) {
    return show(cx, (ui, shared) => ui.SigningOutPage({ ...shared, frames, continueHref: next }), {
      ...lookedAt(cx, left),
      frames,
      continueTo: next,
      cookies,
    })
  }
  if (stranger !== undefined) {
    return showStranger(cx, show, { application, why: "signed_out", href: stranger, cookies })
  }
  if (!isAfterForm || location === loginPaths.signedOut) return redirect(location, ...cookies)
  const signedOut = { href: location, application, why: "signed_out", cookies } as const
  return showContinue(show, cx, { ...lookedAt(cx, left), ...signedOut })
}

type Question = Logout & { readonly again: string }

/** Asks; the form posts to the address that brings along everything that was asked for. */
function askFirst(
  { cx, show }: Asking,
  browserContext: BrowserContext,
  asked: Question,
): Promise<Response> {
  const { application, again } = asked
  const form = { action: again, csrf: csrfOf(cx, browserContext.browser) }
  const accounts = meantOf(browserContext, asked).map(({ userId }) => accountOf(cx, userId))
  const cancelHref = loginPaths.signedIn
  return show(
    cx,
    (ui, shared) => ui.LogoutPage({ ...shared, form, accounts, application, cancelHref }),
    {
      ...lookedAt(cx, asked),
      cookies: [browserContext.browser.setCookie],
    },
  )
}

/** In what languages it is asked, and with whose look. */
const lookedAt = (cx: Cx, { clientId, languages }: Pick<Logout, "clientId" | "languages">) => ({
  languages,
  orgId: lookOrgOf(cx, clientId === undefined ? undefined : { clientId }),
})
