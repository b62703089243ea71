import {
  type AccessRule,
  proxiedCallback,
  recordUse,
  rulesFor,
  satisfiesRule,
} from "../../domain/app/index.ts"
import { isInNetworks } from "../../domain/app-access/index.ts"
import { listRolesByOrg } from "../../domain/authorization/index.ts"
import { project } from "../../domain/project/index.ts"
import { prefersHtml } from "../../protocol/accept.ts"
import type { Cx } from "../../store/index.ts"
import type { ProofRequest } from "../client/proof.ts"
import type { Endpoint, EndpointContext } from "../endpoint/endpoint.ts"
import { OAuthError } from "../error.ts"
import { redeemCode } from "../grant/authorization-code.ts"
import { issuerOf, paths } from "../issuer.ts"
import { recordRejectedRequest } from "../rejected-request.ts"
import { noStore, redirect } from "../response.ts"
import { lifetimesOf } from "../token/lifetime.ts"
import { challengeFor, type PresentedToken } from "../token/presented.ts"
import { narrowing } from "../token/resource.ts"
import { isOpenToUser, tokenProofExpiry } from "../token/token-parent.ts"
import { findOwnToken, verifyToken } from "./access-token.ts"
import { finishAuthorization, startAuthorization } from "./authorization.ts"
import { anonymousIdentity, identityOf } from "./identity.ts"
import { type ProxiedRequest, parseProxiedRequest } from "./proxied-request.ts"
import {
  type DenialReason,
  forbiddenResponse,
  hostPaths,
  redirectToRejection,
} from "./rejection.ts"
import { cookieFor, findSessionUser, sessionCookie, type Visitor } from "./session-cookie.ts"

/**
 * Responds to a proxy that asks for each request whether to forward it: 200 with the user's
 * identity, or the response for the browser. nginx can't forward a response, so it asks at
 * `…/check`, which returns 200, 401 or 403, and then fetches the client's response at `…/ask`. The
 * path is `/forward-auth/HOST/CLIENT_ID/authorization`: the instance's own host and the
 * application. Proxies with a configuration from before access tokens were supported omit the last
 * part.
 */
export const forwardAuth: Endpoint = {
  methods: ["GET"],
  anyOrigin: false,
  handle: async (context) => {
    const { cx, request, url } = context
    const [, , , clientId = "", ...rest] = url.pathname.split("/")
    const proxied = catchOAuthError(() => parseProxiedRequest(cx, request.headers, clientId))
    if (proxied instanceof OAuthError) {
      await recordRejectedRequest(context, proxied)
      return textResponse(proxied.status, `${proxied.description}.`)
    }
    const takesAuthorization = rest[0] === "authorization"
    const question = rest[takesAuthorization ? 1 : 0]
    const isSecondCall = question === "ask"
    const forwardRequest = { proxied, headers: request.headers, takesAuthorization, isSecondCall }
    if (question === "check") return respondWithStatus(cx, forwardRequest)
    const [path = "", search = ""] = proxied.target.split(/\?(.*)/s)
    if (path === proxiedCallback)
      return handleCallback(context, proxied, new URLSearchParams(search))
    const header = request.headers.get("cookie")
    if (path === hostPaths.signIn)
      return startAuthorization(cx, proxied, header, { target: "/", selectAccount: true })
    return path === hostPaths.signOut
      ? handleSignOut(cx, proxied)
      : respondToBrowser(context, forwardRequest)
  },
}

function catchOAuthError<T>(act: () => T): T | OAuthError {
  try {
    return act()
  } catch (cause) {
    if (cause instanceof OAuthError) return cause
    throw cause
  }
}

type Decision =
  | { readonly verdict: "open"; readonly identity: Headers }
  | { readonly verdict: "nobody" | Denial }
  | {
      readonly verdict: "bad token"
      readonly presented?: PresentedToken
      readonly cause: OAuthError
    }

type Denial = "no entry" | "other network" | "no role" | "no email"

type ForwardAuthRequest = {
  readonly proxied: ProxiedRequest
  readonly headers: Headers
  /** Whether the proxy sets the application's Authorization header from this response. */
  readonly takesAuthorization: boolean
  /** Whether this is the second call for a request that the first one denied. */
  readonly isSecondCall: boolean
}

const rulesOf = ({ state, target }: ProxiedRequest) =>
  rulesFor(state.oidc.accessRules ?? [], target)

/**
 * Decides about a request. The first of two calls uses the DPoP proof (RFC 9449 §11.1), so the
 * second one accepts a used proof and checks everything else.
 */
async function decide(cx: Cx, forwardRequest: ForwardAuthRequest): Promise<Decision> {
  const decision = forwardRequest.isSecondCall
    ? await decideOnce(cx, forwardRequest, { isReusable: true })
    : undefined
  return decision && decision.verdict !== "open" ? decision : decideOnce(cx, forwardRequest)
}

/**
 * Decides about a request: by its access token if the rules for its path accept one and it contains
 * one of ours, otherwise by the session of its browser; never by both.
 */
async function decideOnce(
  cx: Cx,
  forwardRequest: ForwardAuthRequest,
  use: Pick<ProofRequest, "isReusable"> = {},
): Promise<Decision> {
  const { proxied, headers } = forwardRequest
  const authorization = headers.get("authorization")
  let presented: PresentedToken | undefined
  try {
    if (acceptTokens(rulesOf(proxied))) presented = findOwnToken(cx, authorization)
    if (!presented) {
      const decision = decideFor(cx, proxied, findSessionUser(cx, proxied, headers.get("cookie")))
      return withAuthorization(forwardRequest, decision, authorization)
    }
    const isForwarded = proxied.state.oidc.accessTokenForwarded === true
    if (!isForwarded && !forwardRequest.takesAuthorization) throw outdatedConfigurationError()
    const { userId, grantId: anchor } = await verifyToken(cx, {
      ...use,
      proxied,
      headers,
      presented,
    })
    const isProofValid = cx.clock.now() < tokenProofExpiry(cx, proxied.appId, { userId, anchor })
    const isAccessDenied = !isProofValid || !isOpenToUser(cx, proxied.appId, userId)
    const decision = decideFor(cx, proxied, { userId, isAccessDenied })
    return withAuthorization(forwardRequest, decision, isForwarded ? authorization : null)
  } catch (cause) {
    if (!(cause instanceof OAuthError)) throw cause
    return { verdict: "bad token", ...(presented && { presented }), cause }
  }
}

const acceptTokens = (rules: readonly AccessRule[]): boolean =>
  rules.every(({ accessTokens }) => accessTokens)

/** The application would receive the token, which may grant more than access to it. */
const outdatedConfigurationError = () =>
  new OAuthError(
    "invalid_request",
    "the proxy would forward the access token to the application: copy its configuration " +
      "again from the page of the application",
    { status: 401 },
  )

/**
 * Returns the Authorization header for the application: the proxy sets it from this response, so
 * that our own token, which is only for this decision, is removed. Older configurations of nginx
 * don't read it from the response.
 */
function withAuthorization(
  { takesAuthorization }: ForwardAuthRequest,
  decision: Decision,
  authorization: string | null,
): Decision {
  if (takesAuthorization && decision.verdict === "open" && authorization !== null) {
    decision.identity.set("authorization", authorization)
  }
  return decision
}

/** Decides for a user, or for an anonymous request. */
function decideFor(cx: Cx, proxied: ProxiedRequest, visitor: Visitor | undefined): Decision {
  const rules = rulesOf(proxied)
  const isPublic = rules.every(({ everybody }) => everybody)
  if (!visitor || visitor.isAccessDenied) {
    if (isPublic) return { verdict: "open", identity: anonymousIdentity() }
    return { verdict: visitor ? "no entry" : "nobody" }
  }
  if (!isPublic && !isInNetworks(cx, proxied.appId, "proxy")) return { verdict: "other network" }
  const { userId } = visitor
  const { orgId } = cx.store.state(cx, project, proxied.state.projectId)
  const roleKeys = listRolesByOrg(cx, userId, proxied.state.projectId).flatMap(({ keys }) => keys)
  const roles = [...new Set(roleKeys)]
  if (!rules.every((rule) => satisfiesRule(roles, rule))) return { verdict: "no role" }
  const { remoteUser } = proxied.state.oidc
  const identity = identityOf(cx, { userId, roles, orgId, remoteUser })
  if (identity) return { verdict: "open", identity }
  return isPublic ? { verdict: "open", identity: anonymousIdentity() } : { verdict: "no email" }
}

async function respondWithStatus(cx: Cx, forwardRequest: ForwardAuthRequest): Promise<Response> {
  const decision = await decide(cx, forwardRequest)
  if (decision.verdict === "open") return forwardResponse(decision.identity)
  // nginx would send its own challenge header in addition to that of the second response.
  if (decision.verdict === "bad token") return textResponse(401, `${decision.cause.description}.`)
  const { verdict } = decision
  return verdict === "nobody"
    ? textResponse(401, "Sign in first.")
    : textResponse(403, denialsByVerdict[verdict].text)
}

/** API clients receive the status; browsers are redirected to a page that helps the user. */
async function respondToBrowser(
  context: EndpointContext,
  forwardRequest: ForwardAuthRequest,
): Promise<Response> {
  const { cx, request } = context
  const { proxied } = forwardRequest
  const decision = await decide(cx, forwardRequest)
  if (decision.verdict === "open") return forwardResponse(decision.identity)
  if (decision.verdict === "bad token") {
    await recordRejectedRequest(context, decision.cause)
    return invalidTokenResponse(proxied, decision)
  }
  const isPage = prefersHtml(request)
  if (decision.verdict !== "nobody") {
    const { why, text } = denialsByVerdict[decision.verdict]
    return isPage ? forbiddenResponse(cx, proxied, why, text) : textResponse(403, text)
  }
  if (!isPage) return anonymousResponse(proxied)
  // If the proxy does not send the method, the request may not be repeatable.
  const isRead = ["GET", "HEAD"].includes(request.headers.get("x-forwarded-method") ?? "")
  const target = isRead ? proxied.target : "/"
  return startAuthorization(cx, proxied, request.headers.get("cookie"), { target })
}

/** RFC 6750 §3: a response without a token states whether an access token is accepted. */
function anonymousResponse(proxied: ProxiedRequest): Response {
  const answer = textResponse(401, "Sign in first.")
  if (acceptTokens(rulesOf(proxied))) {
    answer.headers.set("www-authenticate", challengeFor("bearer", realmOf(proxied)))
  }
  return answer
}

type BadToken = Extract<Decision, { readonly verdict: "bad token" }>

function invalidTokenResponse(proxied: ProxiedRequest, { presented, cause }: BadToken): Response {
  const { status, error, description } = cause
  const answer = textResponse(status, `${description}.`)
  const problem = `error="${error}", error_description="${description}"`
  const scheme = presented?.scheme ?? "bearer"
  answer.headers.set("www-authenticate", `${challengeFor(scheme, realmOf(proxied))}, ${problem}`)
  return answer
}

const realmOf = ({ origin }: ProxiedRequest): string => new URL(origin).host

const denialsByVerdict = {
  "no entry": { why: "access", text: "This user can't use this application." },
  "other network": { why: "network", text: "This application can't be used from your network." },
  "no role": { why: "role", text: "You don't have any of the roles that this page requires." },
  "no email": { why: "email", text: "This page requires a verified email address." },
} as const satisfies Record<Denial, { readonly why: DenialReason; readonly text: string }>

const forwardResponse = (headers: Headers): Response => {
  for (const [name, value] of Object.entries(noStore)) headers.set(name, value)
  return new Response(null, { status: 200, headers })
}

const textResponse = (status: number, text: string): Response =>
  new Response(`${text}\n`, { status, headers: { ...noStore, "content-type": "text/plain" } })

/** RFC 6749 §4.1.2: exchanges the code for a session at this host. */
async function handleCallback(
  context: EndpointContext,
  proxied: ProxiedRequest,
  search: URLSearchParams,
): Promise<Response> {
  const { cx, request } = context
  const header = request.headers.get("cookie")
  const finished = finishAuthorization(cx, proxied, { state: search.get("state") ?? "", header })
  const code = search.get("code")
  if (code === null) return redirectToRejection(cx, proxied, "sign-in")
  if (!finished) return redirectToRejection(cx, proxied, "way")
  const { clientId, appId, state, origin } = proxied
  const parameters = new Map([
    ["code", code],
    ["redirect_uri", origin + proxiedCallback],
    ["code_verifier", finished.verifier],
  ])
  const client = { kind: "application", method: "none", clientId, appId, state } as const
  try {
    const narrow = narrowing(cx, parameters)
    const granted = await redeemCode(cx, { parameters, client, proof: undefined, narrow })
    await recordUse(cx, clientId)
    const { grantId, userId } = granted
    const seconds = lifetimesOf(cx, clientId).access
    return redirect(
      origin + finished.target,
      sessionCookie(cx, proxied, { grantId, userId, seconds }),
    )
  } catch (cause) {
    if (!(cause instanceof OAuthError)) throw cause
    await recordRejectedRequest(context, cause)
    return redirectToRejection(cx, proxied, "way")
  }
}

/** Ends the session at this host, and asks at our own host whether to end the sign-in, too. */
function handleSignOut(cx: Cx, proxied: ProxiedRequest): Response {
  const { clientId, origin, state } = proxied
  const logoutUri = state.oidc.postLogoutRedirectUris.find(
    (uri) => URL.parse(uri)?.origin === origin,
  )
  const query = new URLSearchParams({
    client_id: clientId,
    ...(logoutUri !== undefined && { post_logout_redirect_uri: logoutUri }),
  })
  const location = `${issuerOf(cx).issuer}${paths.endSession}?${query}`
  return redirect(location, cookieFor(proxied, "", "", 0))
}
