import {
  type AddressProblem,
  addressProblem,
  findClient,
  isAppActive,
  type OidcApp,
  redirectProblem,
} from "../../domain/app/index.ts"
import type { PushedReference, Requested, ResponseMode } from "../../domain/grant/index.ts"
import { because, type Found, findingOfAddress } from "../../domain/refusal/index.ts"
import type { Cx } from "../../store/index.ts"
import { unusableFindings } from "../client/registered.ts"
import { repeatedFinding } from "../request.ts"
import { responseModeOf } from "./request/response-type.ts"

/** Where an answer goes that nobody else may get. */
export type ReturnPath = {
  readonly clientId: string
  readonly appId: string
  readonly app: OidcApp
  readonly redirectUri: string
  readonly responseMode: ResponseMode
  readonly state: string | undefined
  /** The pushed request that it came in. */
  readonly pushed?: PushedReference
  /** Who tries the application out with it. */
  readonly testedBy?: string
}

export type Untrusted = {
  readonly problem: "unknown_application" | "redirect_uri" | "invalid_request"
  readonly detail?: string
  readonly finding?: Found
}

/**
 * RFC 6749 §4.1.2.1: before anything is sent anywhere, client and redirect URI must be right; what
 * is wrong with them is told to the person, on our own page.
 */
export function returnPathOf(cx: Cx, search: URLSearchParams): ReturnPath | Untrusted {
  const [clientId, ...otherClients] = search.getAll("client_id")
  const [redirectUri, ...otherUris] = search.getAll("redirect_uri")
  if (otherClients.length + otherUris.length > 0) {
    const name = otherClients.length > 0 ? "client_id" : "redirect_uri"
    const detail = "client_id or redirect_uri is repeated."
    return { problem: "invalid_request", detail, finding: () => [repeatedFinding(search, name)] }
  }
  if (!clientId) return { problem: "invalid_request", detail: "client_id is missing." }
  const client = findClient(cx, clientId)
  if (client?.state.kind !== "oidc" || !isAppActive(cx, client.appId)) {
    return { problem: "unknown_application", finding: () => unusableFindings(cx, clientId) }
  }
  if (!redirectUri) return { problem: "invalid_request", detail: "redirect_uri is missing." }
  const problem = redirectProblem(cx, client.state, redirectUri)
  if (problem) return untrustedBy(problem, { app: client.state, redirectUri })
  return {
    clientId,
    appId: client.appId,
    app: client.state,
    redirectUri,
    responseMode: responseModeOf(search),
    state: search.get("state") || undefined,
  }
}

/**
 * What an administrator has taken away of where an answer was to go, while a person signed in:
 * nobody is sent there any more. A device has no address.
 */
export function goneSince(
  cx: Cx,
  asked: Pick<Requested, "clientId" | "redirectUri" | "device">,
): Untrusted | undefined {
  const problem = addressProblem(cx, asked)
  const { clientId, redirectUri } = asked
  const app = findClient(cx, clientId)?.state
  return problem && untrustedBy(problem, { ...(app?.kind === "oidc" && { app }), redirectUri })
}

type Address = { readonly app?: OidcApp; readonly redirectUri: string }

/** What is told of it, and what the administrators find among the refused requests. */
function untrustedBy(problem: AddressProblem, { app, redirectUri }: Address): Untrusted {
  if (problem === "unknown client") return { problem: "unknown_application" }
  if (problem === "unregistered") {
    const registered = app?.oidc.redirectUris ?? []
    const finding = () => [findingOfAddress("redirect_uri", redirectUri, registered)]
    return { problem: "redirect_uri", finding }
  }
  const subject = "redirect_uri"
  const why = because(subject, "address.exposed")
  const finding = () => [{ subject, received: redirectUri, expected: [], ...why }]
  return { problem: "invalid_request", detail: exposed, finding }
}

const exposed =
  "The redirect URI begins with http://, which is for this machine, for private networks where " +
  "the application allows it, and for development mode."
