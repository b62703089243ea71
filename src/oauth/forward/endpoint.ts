import {
  type AccessRule,
  noteUse,
  proxiedCallback,
  rulesFor,
  satisfies,
} from "../../domain/app/index.ts"
import { isInNetworks } from "../../domain/app-access/index.ts"
import { rolesHeld } from "../../domain/authorization/index.ts"
import { project } from "../../domain/project/index.ts"
import { wantsPage } from "../../protocol/accept.ts"
import type { Cx } from "../../store/index.ts"
import type { Use } from "../client/proof.ts"
import type { Asking, Endpoint } from "../endpoint/endpoint.ts"
import { OAuthError } from "../error.ts"
import { redeemCode } from "../grant/authorization-code.ts"
import { issuerOf, paths } from "../issuer.ts"
import { recordRefusal } from "../refusal.ts"
import { noStore, redirect } from "../response.ts"
import { lifetimesOf } from "../token/lifetime.ts"
import { challengeFor, type Presented } from "../token/presented.ts"
import { narrowing } from "../token/resource.ts"
import { isOpenTo, provenUntil } from "../token/token-parent.ts"
import { ownTokenIn, tokenFor } from "./access-token.ts"
import { identityOf, nobodysIdentity } from "./identity.ts"
import { cookieFor, passCookie, passedBy, type Visitor } from "./pass.ts"
import { type Proxied, proxiedBy } from "./proxied.ts"
import { type Forbidden, forbidden, ownPaths, refused } from "./refused.ts"
import { beginWay, wayBack } from "./way.ts"

/**
 * Answers a proxy that asks about each request before it lets it through: 200 with who it is, or
 * what the browser gets instead. nginx, which can't hand on an answer, asks at `…/check`, where it
 * is 200, 401 or 403, and then fetches what its client gets instead at `…/ask`. The path is
 * `/forward-auth/HOST/CLIENT_ID/authorization`: the instance's own host and the application; the
 * last part is missing where a proxy has settings from before access tokens were accepted.
 */
export const forwardAuth: Endpoint = {
  methods: ["GET"],
  anyOrigin: false,
  answer: async (asking) => {
    const { cx, request, url } = asking
    const [, , , clientId = "", ...rest] = url.pathname.split("/")
    const at = attempt(() => proxiedBy(cx, request.headers, clientId))
    if (at instanceof OAuthError) {
      await recordRefusal(asking, at)
      return told(at.status, `${at.description}.`)
    }
    const takesAuthorization = rest[0] === "authorization"
    const question = rest[takesAuthorization ? 1 : 0]
    const isSecond = question === "ask"
    const visit = { at, headers: request.headers, takesAuthorization, isSecond }
    if (question === "check") return checked(cx, visit)
    const [path = "", search = ""] = at.target.split(/\?(.*)/s)
    if (path === proxiedCallback) return comeBack(asking, at, new URLSearchParams(search))
    const header = request.headers.get("cookie")
    if (path === ownPaths.signIn) return beginWay(cx, at, header, { target: "/", chooses: true })
    return path === ownPaths.signOut ? signedOut(cx, at) : gated(asking, visit)
  },
}

function attempt<T>(act: () => T): T | OAuthError {
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
  | { readonly verdict: "bad token"; readonly presented?: Presented; readonly cause: OAuthError }

type Denial = "no entry" | "other network" | "no role" | "no email"

type Visit = {
  readonly at: Proxied
  readonly headers: Headers
  /** Whether the proxy takes the Authorization header that the program receives from here. */
  readonly takesAuthorization: boolean
  /** Whether the proxy has asked about the same request before, and was told to refuse it. */
  readonly isSecond: boolean
}

const rulesOf = ({ state, target }: Proxied) => rulesFor(state.oidc.accessRules ?? [], target)

/**
 * Whether a request may pass. The first of two questions has used up its DPoP proof (RFC 9449
 * §11.1), so that the second one would find no other fault: it looks for all others before that.
 */
async function decide(cx: Cx, visit: Visit): Promise<Decision> {
  const decision = visit.isSecond ? await decideOnce(cx, visit, { staysUnused: true }) : undefined
  return decision && decision.verdict !== "open" ? decision : decideOnce(cx, visit)
}

/**
 * Whether a request may pass: by its access token where the rules for its path accept one and it
 * has one of ours, else by the pass of its browser; never by both.
 */
async function decideOnce(
  cx: Cx,
  visit: Visit,
  use: Pick<Use, "staysUnused"> = {},
): Promise<Decision> {
  const { at, headers } = visit
  const authorization = headers.get("authorization")
  let presented: Presented | undefined
  try {
    if (acceptTokens(rulesOf(at))) presented = ownTokenIn(cx, authorization)
    if (!presented) {
      const decision = decideFor(cx, at, passedBy(cx, at, headers.get("cookie")))
      return withAuthorization(visit, decision, authorization)
    }
    const isForwarded = at.state.oidc.accessTokenForwarded === true
    if (!isForwarded && !visit.takesAuthorization) throw earlierSettingsError()
    const { userId, grantId: anchor } = await tokenFor(cx, { ...use, at, headers, presented })
    const isProven = cx.clock.now() < provenUntil(cx, at.appId, { userId, anchor })
    const isShutOut = !isProven || !isOpenTo(cx, at.appId, userId)
    const decision = decideFor(cx, at, { userId, isShutOut })
    return withAuthorization(visit, decision, isForwarded ? authorization : null)
  } catch (cause) {
    if (!(cause instanceof OAuthError)) throw cause
    return { verdict: "bad token", ...(presented && { presented }), cause }
  }
}

const acceptTokens = (rules: readonly AccessRule[]): boolean =>
  rules.every(({ accessTokens }) => accessTokens)

/** The program would receive the token, which may be good for more than it. */
const earlierSettingsError = () =>
  new OAuthError(
    "invalid_request",
    "the proxy would forward the access token to the program: copy its settings again from the " +
      "page of the application",
    { status: 401 },
  )

/**
 * Returns the Authorization header that the program receives: proxies take it from here, so that
 * they remove the token of ours that was for this decision alone. Earlier settings of nginx have no
 * room for it in a response.
 */
function withAuthorization(
  { takesAuthorization }: Visit,
  decision: Decision,
  authorization: string | null,
): Decision {
  if (takesAuthorization && decision.verdict === "open" && authorization !== null) {
    decision.identity.set("authorization", authorization)
  }
  return decision
}

/** Decides for a user, or for nobody. */
function decideFor(cx: Cx, at: Proxied, visitor: Visitor | undefined): Decision {
  const rules = rulesOf(at)
  const isPublic = rules.every(({ everybody }) => everybody)
  if (!visitor || visitor.isShutOut) {
    if (isPublic) return { verdict: "open", identity: nobodysIdentity() }
    return { verdict: visitor ? "no entry" : "nobody" }
  }
  if (!isPublic && !isInNetworks(cx, at.appId, "proxy")) return { verdict: "other network" }
  const { userId } = visitor
  const { orgId } = cx.store.state(cx, project, at.state.projectId)
  const held = rolesHeld(cx, userId, at.state.projectId).flatMap(({ keys }) => keys)
  const roles = [...new Set(held)]
  if (!rules.every((rule) => satisfies(roles, rule))) return { verdict: "no role" }
  const { remoteUser } = at.state.oidc
  const identity = identityOf(cx, { userId, roles, orgId, remoteUser })
  if (identity) return { verdict: "open", identity }
  return isPublic ? { verdict: "open", identity: nobodysIdentity() } : { verdict: "no email" }
}

async function checked(cx: Cx, visit: Visit): Promise<Response> {
  const decision = await decide(cx, visit)
  if (decision.verdict === "open") return letThrough(decision.identity)
  // nginx would send its client a challenge from here beside the one of the second answer.
  if (decision.verdict === "bad token") return told(401, `${decision.cause.description}.`)
  const { verdict } = decision
  return verdict === "nobody" ? told(401, "Sign in first.") : told(403, denials[verdict].text)
}

/** A program that asks learns the status; a person is sent to where they can do something. */
async function gated(asking: Asking, visit: Visit): Promise<Response> {
  const { cx, request } = asking
  const { at } = visit
  const decision = await decide(cx, visit)
  if (decision.verdict === "open") return letThrough(decision.identity)
  if (decision.verdict === "bad token") {
    await recordRefusal(asking, decision.cause)
    return badToken(at, decision)
  }
  const isPage = wantsPage(request)
  if (decision.verdict !== "nobody") {
    const { why, text } = denials[decision.verdict]
    return isPage ? forbidden(cx, at, why, text) : told(403, text)
  }
  if (!isPage) return unknown(at)
  // Where the proxy doesn't name the method, the request may be one that must not be repeated.
  const isRead = ["GET", "HEAD"].includes(request.headers.get("x-forwarded-method") ?? "")
  const target = isRead ? at.target : "/"
  return beginWay(cx, at, request.headers.get("cookie"), { target })
}

/** RFC 6750 §3: who presented nothing learns that an access token is accepted, where one is. */
function unknown(at: Proxied): Response {
  const answer = told(401, "Sign in first.")
  if (acceptTokens(rulesOf(at))) {
    answer.headers.set("www-authenticate", challengeFor("bearer", realmOf(at)))
  }
  return answer
}

type BadToken = Extract<Decision, { readonly verdict: "bad token" }>

function badToken(at: Proxied, { presented, cause }: BadToken): Response {
  const { status, error, description } = cause
  const answer = told(status, `${description}.`)
  const problem = `error="${error}", error_description="${description}"`
  const scheme = presented?.scheme ?? "bearer"
  answer.headers.set("www-authenticate", `${challengeFor(scheme, realmOf(at))}, ${problem}`)
  return answer
}

const realmOf = ({ origin }: Proxied): string => new URL(origin).host

const denials = {
  "no entry": { why: "access", text: "This user can't use this application." },
  "other network": { why: "network", text: "This can't be used from where you are." },
  "no role": { why: "role", text: "You have none of the roles that this needs." },
  "no email": { why: "email", text: "This needs a verified email address." },
} as const satisfies Record<Denial, { readonly why: Forbidden; readonly text: string }>

const letThrough = (headers: Headers): Response => {
  for (const [name, value] of Object.entries(noStore)) headers.set(name, value)
  return new Response(null, { status: 200, headers })
}

const told = (status: number, text: string): Response =>
  new Response(`${text}\n`, { status, headers: { ...noStore, "content-type": "text/plain" } })

/** RFC 6749 §4.1.2: the code becomes a pass for this host. */
async function comeBack(asking: Asking, at: Proxied, search: URLSearchParams): Promise<Response> {
  const { cx, request } = asking
  const header = request.headers.get("cookie")
  const way = wayBack(cx, at, { state: search.get("state") ?? "", header })
  const code = search.get("code")
  if (code === null) return refused(cx, at, "sign-in")
  if (!way) return refused(cx, at, "way")
  const { clientId, appId, state, origin } = at
  const parameters = new Map([
    ["code", code],
    ["redirect_uri", origin + proxiedCallback],
    ["code_verifier", way.verifier],
  ])
  const client = { kind: "application", method: "none", clientId, appId, state } as const
  try {
    const narrow = narrowing(cx, parameters)
    const granted = await redeemCode(cx, { parameters, client, proof: undefined, narrow })
    await noteUse(cx, clientId)
    const { grantId, userId } = granted
    const seconds = lifetimesOf(cx, clientId).access
    return redirect(origin + way.target, passCookie(cx, at, { grantId, userId, seconds }))
  } catch (cause) {
    if (!(cause instanceof OAuthError)) throw cause
    await recordRefusal(asking, cause)
    return refused(cx, at, "way")
  }
}

/** Ends the pass here, and asks at our own address whether the sign-in is to end, too. */
function signedOut(cx: Cx, at: Proxied): Response {
  const { clientId, origin, state } = at
  const back = state.oidc.postLogoutRedirectUris.find((uri) => URL.parse(uri)?.origin === origin)
  const query = new URLSearchParams({
    client_id: clientId,
    ...(back !== undefined && { post_logout_redirect_uri: back }),
  })
  const location = `${issuerOf(cx).issuer}${paths.endSession}?${query}`
  return redirect(location, cookieFor(at, "", "", 0))
}
