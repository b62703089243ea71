import { findClient } from "../../domain/app/index.ts"
import { addSamlLogout, listLogoutParticipants, samlLogoutPath } from "../../domain/grant/index.ts"
import { csrfTokenOf, endSession as end, session } from "../../domain/session/index.ts"
import {
  accountOf,
  type BrowserContext,
  brandingOrgOf,
  isOwnForm,
  loadBrowserContext,
  loginPaths,
  pageStateFor,
  showContinue,
} from "../../login/index.ts"
import { prefersHtml } from "../../protocol/accept.ts"
import type { Cx } from "../../store/index.ts"
import { isUnapprovedRedirect, showUnapprovedRedirect } from "../authorize/unapproved-redirect.ts"
import { findCustomLoginPage } from "../custom-login/login-page.ts"
import { paths } from "../issuer.ts"
import {
  canBeProgram,
  findBackendSession,
  isHintedSessionActive,
  nothingEndedError,
} from "../logout/backend.ts"
import { frontChannelUris } from "../logout/front-channel.ts"
import { type LogoutRequest, logoutParameters, parseLogoutRequest } from "../logout/request.ts"
import { type Parameters, parseParameters } from "../parameters.ts"
import { redirect } from "../response.ts"
import type { Endpoint, EndpointContext } from "./endpoint.ts"

/** OpenID Connect RP-Initiated Logout §2. */
export const endSession: Endpoint = {
  methods: ["GET", "POST"],
  anyOrigin: false,
  handle: async (context) => {
    const { cx, request, url } = context
    const posted = request.method === "POST"
    const search = posted ? await context.form() : new URLSearchParams()
    const parameters = parseParameters(new URLSearchParams([...url.searchParams, ...search]))
    const browserContext = await loadBrowserContext(cx, request)
    const endedLogout = logoutState.of({ cx, request, browserContext })
    if (!posted && endedLogout)
      return redirectAfterLogout(context, browserContext, { ...endedLogout, isAfterForm: true })
    const csrf = parameters.get("csrf")
    const isAfterForm = posted && csrf !== undefined
    const isProgram = !isAfterForm && canBeProgram(request)
    if (isProgram && parameters.has("id_token_hint")) await endFromBackend(cx, parameters)
    // A cross-site form contains no cookie of ours (SameSite=Lax); a GET request does.
    if (posted && !isAfterForm && browserContext.browser.setCookie !== undefined) {
      return redirect(withParameters(paths.endSession, parameters))
    }
    const logoutRequest = parseLogoutRequest(cx, parameters)
    const { logout, unapprovedUri } = checkRedirect(cx, browserContext, logoutRequest)
    const confirmed = isAfterForm && isOwnForm(cx, browserContext, { request, csrf })
    const handed = customLoginSession(cx, logout)
    const page = handed ? undefined : customLogoutPage(cx, logout, parameters)
    if (page !== undefined) return redirect(page, browserContext.browser.setCookie)
    const sessions = handed ?? sessionsToEnd(browserContext, logout, confirmed)
    if (sessions === "ask") {
      return askForConfirmation(context, browserContext, {
        ...logout,
        again: withParameters(paths.endSession, parameters),
      })
    }
    if (sessions.length === 0 && isHintedSessionActive(cx, logoutRequest)) {
      if (isProgram && !prefersHtml(request)) throw nothingEndedError(cx, logoutRequest)
      if (logoutRequest.location === loginPaths.signedOut) {
        return redirect(loginPaths.nobodyHere, browserContext.browser.setCookie)
      }
    }
    const next = await endSessions(cx, sessions, logout.location)
    const { application, clientId, languages, location } = logout
    const logoutResult = {
      application,
      clientId,
      languages,
      location,
      next,
      sessions,
      unapprovedUri,
    }
    return isAfterForm
      ? logoutState.next({ cx, request, browserContext }, logoutResult)
      : redirectAfterLogout(context, browserContext, { ...logoutResult, isAfterForm })
  },
}

/** State of the page after the user has confirmed, so that no redirect follows a form. */
const logoutState = pageStateFor<EndedLogout>(paths.endSession)

/** Ends sessions for an application's backend, before the browser's sessions are read. */
async function endFromBackend(cx: Cx, parameters: Parameters): Promise<void> {
  const id = findBackendSession(cx, parseLogoutRequest(cx, parameters))
  if (id !== undefined) await cx.store.transact(cx, (tx) => end(tx, id))
}

type CheckedLogout = { readonly logout: LogoutRequest; readonly unapprovedUri?: string }

/**
 * The user must confirm a redirect to an unapproved application, unless the hint is from a user in
 * this browser: they have consented to the application.
 */
function checkRedirect(cx: Cx, { present }: BrowserContext, logout: LogoutRequest): CheckedLogout {
  const { location, clientId, sessionId, userId } = logout
  const appId = clientId === undefined ? undefined : findClient(cx, clientId)?.appId
  if (appId === undefined || location === loginPaths.signedOut) return { logout }
  const isHinted = present.some(({ id, userId: user }) => id === sessionId || user === userId)
  if (isHinted || !isUnapprovedRedirect(cx, { appId, uri: location, present: [] }))
    return { logout }
  return { logout: { ...logout, location: loginPaths.signedOut }, unapprovedUri: location }
}

/** Ends sessions; returns where the browser is sent: first to the SAML applications. */
async function endSessions(cx: Cx, sessions: readonly string[], location: string): Promise<string> {
  const untold = listLogoutParticipants(cx, sessions)
  const afterwards = { kind: "location", url: location } as const
  const step = await cx.store.transact(cx, (tx) => {
    for (const id of sessions) end(tx, id)
    return untold.length > 0 ? addSamlLogout(tx, cx, { untold, afterwards }) : undefined
  })
  return step.value === undefined ? location : samlLogoutPath(step.value)
}

/**
 * The session of the hint, if a custom login page manages it: the browser has no cookie for it, and
 * the ID token proves that the application acts for the user.
 */
function customLoginSession(
  cx: Cx,
  { sessionId = "" }: LogoutRequest,
): readonly string[] | undefined {
  const { status, creatorId } = cx.store.state(cx, session, sessionId)
  return status === "active" && creatorId !== undefined ? [sessionId] : undefined
}

/** The logout page of an application whose sign-in uses a custom login page. */
function customLogoutPage(
  cx: Cx,
  { clientId, location }: LogoutRequest,
  parameters: Parameters,
): string | undefined {
  const page = clientId === undefined ? undefined : findCustomLoginPage(cx, { clientId })
  if (page === undefined) return undefined
  const keptParameters = ["logout_hint", "ui_locales"].flatMap((name) => {
    const value = parameters.get(name)
    return value === undefined ? [] : [[name, value]]
  })
  const isApplicationUri = location !== loginPaths.signedOut
  const redirectParameters = isApplicationUri ? [["post_logout_redirect", location]] : []
  const query = new URLSearchParams([...redirectParameters, ...keptParameters]).toString()
  return `${page}/logout${query && `?${query}`}`
}

/**
 * The session of the hint ends without confirmation. §2: without proof that the application acts
 * for this user, the user is asked; then the sessions shown on the page end.
 */
function sessionsToEnd(
  browserContext: BrowserContext,
  logout: LogoutRequest,
  confirmed: boolean,
): readonly string[] | "ask" {
  const { present, browser } = browserContext
  if (confirmed) {
    const hintedPresent = hintedSessions(browserContext, logout)
    return hintedPresent.length === present.length
      ? browser.sessions
      : hintedPresent.map(({ id }) => id)
  }
  const { sessionId, userId } = logout
  const hinted = present.filter(({ id, userId: user }) => id === sessionId || user === userId)
  if (hinted.length > 0) return hinted.map(({ id }) => id)
  return present.length > 0 ? "ask" : []
}

/** The sessions of the user in logout_hint, if signed in here; otherwise all sessions. */
function hintedSessions(
  { present }: BrowserContext,
  { logoutHintUser }: LogoutRequest,
): BrowserContext["present"] {
  const hintedPresent = present.filter(({ userId }) => userId === logoutHintUser)
  return hintedPresent.length > 0 ? hintedPresent : present
}

/**
 * The URL with the parameters of the request. Other form fields, such as a client secret or our own
 * CSRF token, must not be in URLs, which logs and the browser history store.
 */
function withParameters(path: string, parameters: Parameters): string {
  const keptParameters = logoutParameters.flatMap((name) => {
    const value = parameters.get(name)
    return value === undefined ? [] : [[name, value]]
  })
  return keptParameters.length === 0 ? path : `${path}?${new URLSearchParams(keptParameters)}`
}

/** The logout after the sessions have ended. */
type EndedLogout = Pick<LogoutRequest, "application" | "clientId" | "languages" | "location"> & {
  /** IDs of the ended sessions. */
  readonly sessions: readonly string[]
  /** Where the browser is sent first; otherwise to the location. */
  readonly next: string
  /** The redirect URI of an unapproved application. */
  readonly unapprovedUri: string | undefined
}

/** Redirects the browser; first loads the front-channel logout pages of applications, if any. */
function redirectAfterLogout(
  { cx, show }: EndpointContext,
  browserContext: BrowserContext,
  endedLogout: EndedLogout & { readonly isAfterForm: boolean },
): Promise<Response> | Response {
  const { location, next, sessions, unapprovedUri, application = "", isAfterForm } = endedLogout
  const frames = frontChannelUris(cx, sessions)
  const cookies = [browserContext.browser.setCookie]
  if (frames.length > 0 || next !== location) {
    return show(cx, (ui, shared) => ui.SigningOutPage({ ...shared, frames, continueHref: next }), {
      ...pageOptionsOf(cx, endedLogout),
      frames,
      continueTo: next,
      cookies,
    })
  }
  if (unapprovedUri !== undefined) {
    return showUnapprovedRedirect(cx, show, {
      application,
      why: "signed_out",
      href: unapprovedUri,
      cookies,
    })
  }
  if (!isAfterForm || location === loginPaths.signedOut) return redirect(location, ...cookies)
  const signedOut = { href: location, application, why: "signed_out", cookies } as const
  return showContinue(show, cx, { ...pageOptionsOf(cx, endedLogout), ...signedOut })
}

type LogoutQuestion = LogoutRequest & { readonly again: string }

/** Asks for confirmation; the form posts to the URL with the parameters of the request. */
function askForConfirmation(
  { cx, show }: EndpointContext,
  browserContext: BrowserContext,
  logout: LogoutQuestion,
): Promise<Response> {
  const { application, again } = logout
  const form = { action: again, csrf: csrfTokenOf(cx, browserContext.browser) }
  const accounts = hintedSessions(browserContext, logout).map(({ userId }) => accountOf(cx, userId))
  const cancelHref = loginPaths.signedIn
  return show(
    cx,
    (ui, shared) => ui.LogoutPage({ ...shared, form, accounts, application, cancelHref }),
    {
      ...pageOptionsOf(cx, logout),
      cookies: [browserContext.browser.setCookie],
    },
  )
}

/** The languages and branding of the page. */
const pageOptionsOf = (
  cx: Cx,
  { clientId, languages }: Pick<LogoutRequest, "clientId" | "languages">,
) => ({
  languages,
  orgId: brandingOrgOf(cx, clientId === undefined ? undefined : { clientId }),
})
