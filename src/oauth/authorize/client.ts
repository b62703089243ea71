import {
  findClient,
  isAppActive,
  type OidcApp,
  type RedirectProblem,
  redirectProblem,
  responseProblem,
} from "../../domain/app/index.ts"
import type {
  AuthorizationRequest,
  PushedReference,
  ResponseMode,
} from "../../domain/grant/index.ts"
import { type FindingSource, findingOfUri, likelyCauseOf } from "../../domain/refusal/index.ts"
import type { Cx } from "../../store/index.ts"
import { unusableFindings } from "../client/registered-client.ts"
import { repeatedFinding } from "../parameters.ts"
import { parseResponseMode } from "./request/response-type.ts"

/** A validated redirect URI, where the response can be sent. */
export type ValidatedRedirect = {
  readonly clientId: string
  readonly appId: string
  readonly app: OidcApp
  readonly redirectUri: string
  readonly responseMode: ResponseMode
  readonly state: string | undefined
  /** The pushed request that contained the parameters. */
  readonly pushed?: PushedReference
  /** The administrator who tests the application with it. */
  readonly testedBy?: string
}

export type UntrustedRedirect = {
  readonly problem: "unknown_application" | "redirect_uri" | "invalid_request"
  readonly detail?: string
  readonly finding?: FindingSource
}

/**
 * RFC 6749 §4.1.2.1: client and redirect URI must be valid before anything is sent; problems with
 * them are shown to the user on our own page.
 */
export function validateRedirect(
  cx: Cx,
  search: URLSearchParams,
): ValidatedRedirect | UntrustedRedirect {
  const [clientId, ...otherClients] = search.getAll("client_id")
  const [redirectUri, ...otherUris] = search.getAll("redirect_uri")
  if (otherClients.length + otherUris.length > 0) {
    const name = otherClients.length > 0 ? "client_id" : "redirect_uri"
    const detail = "client_id or redirect_uri is repeated."
    return { problem: "invalid_request", detail, finding: () => [repeatedFinding(search, name)] }
  }
  if (!clientId) return { problem: "invalid_request", detail: "client_id is required." }
  const client = findClient(cx, clientId)
  if (client?.state.kind !== "oidc" || !isAppActive(cx, client.appId)) {
    return { problem: "unknown_application", finding: () => unusableFindings(cx, clientId) }
  }
  if (!redirectUri) return { problem: "invalid_request", detail: "redirect_uri is required." }
  const problem = redirectProblem(cx, client.state, redirectUri)
  if (problem) return untrustedRedirectOf(problem, { app: client.state, redirectUri })
  return {
    clientId,
    appId: client.appId,
    app: client.state,
    redirectUri,
    responseMode: parseResponseMode(search),
    state: search.get("state") || undefined,
  }
}

/**
 * Why the response can't be sent any longer, if an administrator removed the client or the redirect
 * URI during the sign-in. Devices have no redirect URI.
 */
export function findRedirectProblem(
  cx: Cx,
  request: Pick<AuthorizationRequest, "clientId" | "redirectUri" | "device">,
): UntrustedRedirect | undefined {
  const problem = responseProblem(cx, request)
  const { clientId, redirectUri } = request
  const app = findClient(cx, clientId)?.state
  return (
    problem && untrustedRedirectOf(problem, { ...(app?.kind === "oidc" && { app }), redirectUri })
  )
}

type RegisteredRedirect = { readonly app?: OidcApp; readonly redirectUri: string }

/** The error page, and the record for administrators in the list of rejected requests. */
function untrustedRedirectOf(
  problem: RedirectProblem,
  { app, redirectUri }: RegisteredRedirect,
): UntrustedRedirect {
  if (problem === "unknown client") return { problem: "unknown_application" }
  if (problem === "unregistered") {
    const registered = app?.oidc.redirectUris ?? []
    const finding = () => [findingOfUri("redirect_uri", redirectUri, registered)]
    return { problem: "redirect_uri", finding }
  }
  const subject = "redirect_uri"
  const reason = likelyCauseOf(subject, "address.exposed")
  const finding = () => [{ subject, received: redirectUri, expected: [], ...reason }]
  return { problem: "invalid_request", detail: exposedMessage, finding }
}

const exposedMessage =
  "The redirect URI begins with http://, which is allowed only for this machine, for " +
  "private networks if the application allows it, and in development mode."
