import {
  type AccessRule,
  noteUse,
  proxiedCallback,
  rulesFor,
  satisfies,
} from "../../domain/app/index.ts"
import { rolesHeld } from "../../domain/authorization/index.ts"
import { project } from "../../domain/project/index.ts"
import { wantsPage } from "../../kernel/text/accept.ts"
import type { Cx } from "../../store/index.ts"
import type { Asking, Endpoint } from "../endpoint/endpoint.ts"
import { OAuthError } from "../error.ts"
import { redeemCode } from "../grant/authorization-code.ts"
import { issuerOf, paths } from "../issuer.ts"
import { recordRefusal } from "../refusal.ts"
import { noStore, redirect } from "../response.ts"
import { lifetimesOf } from "../token/lifetime.ts"
import { narrowing } from "../token/resource.ts"
import { identityOf, nobodysIdentity } from "./identity.ts"
import { cookieFor, passCookie, passedBy } from "./pass.ts"
import { type Proxied, proxiedBy } from "./proxied.ts"
import { ownPaths, refused } from "./refused.ts"
import { beginWay, wayBack } from "./way.ts"

/**
 * Answers a proxy that asks about each request before it lets it through: 200 with who it is, or
 * what the browser gets instead. nginx, which can't hand on an answer, asks at `…/check`, where it
 * is 200, 401 or 403, and fetches the rest itself. The path is
 * `/forward-auth/HOST/CLIENT_ID`: the instance's own host and the application.
 */
export const forwardAuth: Endpoint = {
  methods: ["GET"],
  anyOrigin: false,
  answer: async (asking) => {
    const { cx, request, url } = asking
    const [, , , clientId = "", rest = ""] = url.pathname.split("/")
    const at = attempt(() => proxiedBy(cx, request.headers, clientId))
    if (at instanceof OAuthError) {
      await recordRefusal(asking, at)
      return told(at.status, `${at.description}.`)
    }
    if (rest === "check") return checked(cx, at, request)
    const [path = "", search = ""] = at.target.split(/\?(.*)/s)
    if (path === proxiedCallback) return comeBack(asking, at, new URLSearchParams(search))
    const header = request.headers.get("cookie")
    if (path === ownPaths.signIn) return beginWay(cx, at, header, { target: "/", chooses: true })
    return path === ownPaths.signOut ? signedOut(cx, at) : gated(cx, at, request)
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

type Denial = "no role" | "no email"

/** Whether a request may pass, by the pass that its browser shows and the rules for its path. */
function decide(cx: Cx, at: Proxied, { headers }: Request): Decision {
  const rules = rulesFor(at.state.oidc.accessRules ?? [], at.target)
  const userId = passedBy(cx, at, headers.get("cookie"))
  if (userId === undefined) {
    const isOpen = rules.every(({ everybody }: AccessRule) => everybody)
    if (!isOpen) return { verdict: "nobody" }
    return { verdict: "open", identity: nobodysIdentity() }
  }
  const { orgId } = cx.store.state(cx, project, at.state.projectId)
  const held = rolesHeld(cx, userId, at.state.projectId).flatMap(({ keys }) => keys)
  const roles = [...new Set(held)]
  if (!rules.every((rule) => satisfies(roles, rule))) return { verdict: "no role" }
  const { remoteUser } = at.state.oidc
  const identity = identityOf(cx, { userId, roles, orgId, remoteUser })
  if (identity) return { verdict: "open", identity }
  const isOpen = rules.every(({ everybody }: AccessRule) => everybody)
  return isOpen ? { verdict: "open", identity: nobodysIdentity() } : { verdict: "no email" }
}

function checked(cx: Cx, at: Proxied, request: Request): Response {
  const decision = decide(cx, at, request)
  if (decision.verdict === "open") return letThrough(decision.identity)
  const { verdict } = decision
  return verdict === "nobody" ? told(401, "Sign in first.") : told(403, denials[verdict].text)
}

/** A program that asks learns the status; a person is sent to where they can do something. */
function gated(cx: Cx, at: Proxied, request: Request): Response {
  const decision = decide(cx, at, request)
  if (decision.verdict === "open") return letThrough(decision.identity)
  const isPage = wantsPage(request)
  if (decision.verdict !== "nobody") {
    const { why, text } = denials[decision.verdict]
    return isPage ? refused(cx, at, why) : told(403, text)
  }
  if (!isPage) return told(401, "Sign in first.")
  // Where the proxy doesn't name the method, the request may be one that must not be repeated.
  const isRead = ["GET", "HEAD"].includes(request.headers.get("x-forwarded-method") ?? "")
  const target = isRead ? at.target : "/"
  return beginWay(cx, at, request.headers.get("cookie"), { target })
}

const denials = {
  "no role": { why: "role", text: "You have none of the roles that this needs." },
  "no email": { why: "email", text: "This needs a verified email address." },
} as const satisfies Record<Denial, { readonly why: "role" | "email"; readonly text: string }>

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
