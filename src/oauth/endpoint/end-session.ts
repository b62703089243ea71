import { findClient } from "../../domain/app/index.ts"
import { csrfOf, endSession as end } from "../../domain/session/index.ts"
import {
  accountOf,
  isOwnForm,
  loginPaths,
  showTrouble,
  type Visit,
  visitOf,
} from "../../login/index.ts"
import { readHint } from "../authorize/parse.ts"
import { paths } from "../own.ts"
import { formSearchOf, type Parameters, parametersOf } from "../request.ts"
import { redirect } from "../response.ts"
import type { Asking, Endpoint } from "./endpoint.ts"

/** OpenID Connect RP-Initiated Logout §2. */
export const endSession: Endpoint = {
  methods: ["GET", "POST"],
  anyOrigin: false,
  answer: async (asking) => {
    const { cx, request, url, show } = asking
    const posted = request.method === "POST"
    const search = posted ? await formSearchOf(request) : new URLSearchParams()
    const parameters = parametersOf(new URLSearchParams([...url.searchParams, ...search]))
    const visit = await visitOf(cx, request)
    // A form from another site comes without our cookie (SameSite=Lax); a GET brings it.
    if (posted && visit.browser.setCookie !== undefined) {
      return redirect(withParameters(paths.endSession, parameters))
    }
    const asked = logoutOf(asking, parameters)
    if (typeof asked === "string") {
      return showTrouble(show, cx, { problem: "invalid_request", detail: asked })
    }
    const csrf = parameters.get("csrf")
    const confirmed = posted && csrf !== undefined && isOwnForm(cx, visit, { request, csrf })
    const sessions = sessionsToEnd(visit, asked, confirmed)
    // §2: without proof that the application speaks for this person, the person is asked.
    const again = withParameters(paths.endSession, parameters)
    if (sessions === "ask") return askFirst(asking, visit, { ...asked, again })
    await cx.store.transact(cx, (tx) => {
      for (const id of sessions) end(tx, id)
    })
    return redirect(asked.location, visit.browser.setCookie)
  },
}

type Logout = {
  /** Where the browser goes afterwards: the application's page, or ours. */
  readonly location: string
  readonly clientId: string | undefined
  /** From the id_token_hint. */
  readonly sessionId: string | undefined
  readonly userId: string | undefined
}

/** Reads what is asked; a text says why it can't be. */
function logoutOf({ cx }: Asking, parameters: Parameters): Logout | string {
  const hint = parameters.get("id_token_hint")
  const claims = hint === undefined ? undefined : readHint(cx, hint)
  if (hint !== undefined && !claims) return "id_token_hint is not an id_token of this issuer."
  const named = parameters.get("client_id")
  const hinted = textOf(claims?.azp)
  if (named !== undefined && hinted !== undefined && named !== hinted) {
    return "client_id is not that of the id_token_hint."
  }
  const clientId = named ?? hinted
  const sessionId = textOf(claims?.sid)
  const userId = textOf(claims?.sub)
  const uri = parameters.get("post_logout_redirect_uri")
  const rest = { clientId, sessionId, userId }
  if (uri === undefined || clientId === undefined)
    return { location: loginPaths.signedOut, ...rest }
  const client = findClient(cx, clientId)?.state
  // §3: exactly one of those that the application registered.
  if (client?.kind !== "oidc" || !client.oidc.postLogoutRedirectUris.includes(uri)) {
    return "post_logout_redirect_uri is not registered for this application."
  }
  return { location: withState(uri, parameters.get("state")), ...rest }
}

const textOf = (value: unknown) => (typeof value === "string" ? value : undefined)

function withState(uri: string, state: string | undefined): string {
  if (state === undefined) return uri
  return `${uri}${uri.includes("?") ? "&" : "?"}${new URLSearchParams({ state })}`
}

/** The session that the hint names ends by itself; all end when the person says so. */
function sessionsToEnd(
  { present, browser }: Visit,
  { sessionId, userId }: Logout,
  confirmed: boolean,
): readonly string[] | "ask" {
  if (confirmed) return browser.sessions
  const hinted = present.filter(({ id, userId: user }) => id === sessionId || user === userId)
  if (hinted.length > 0) return hinted.map(({ id }) => id)
  return present.length > 0 ? "ask" : []
}

/** The address again, with what was asked for; never with a form's own token. */
function withParameters(path: string, parameters: Parameters): string {
  const kept = [...parameters].filter(([name]) => name !== "csrf")
  return kept.length === 0 ? path : `${path}?${new URLSearchParams(kept)}`
}

type Question = Logout & { readonly again: string }

/** Asks; the form posts to the address that brings along everything that was asked for. */
function askFirst({ cx, show }: Asking, visit: Visit, asked: Question): Promise<Response> {
  const client = asked.clientId === undefined ? undefined : findClient(cx, asked.clientId)
  const form = { action: asked.again, csrf: csrfOf(cx, visit.browser) }
  const accounts = visit.present.map(({ userId }) => accountOf(cx, userId))
  const cancelHref = loginPaths.signedIn
  const application = client?.state.name
  return show(
    cx,
    (ui, shared) => ui.LogoutPage({ ...shared, form, accounts, application, cancelHref }),
    { target: asked.location, cookies: [visit.browser.setCookie] },
  )
}
