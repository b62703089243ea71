import { createHash } from "node:crypto"
import { proxiedCallback } from "../../domain/app/index.ts"
import { findCookie } from "../../domain/session/index.ts"
import type { Cx } from "../../store/index.ts"
import { issuerOf, paths } from "../issuer.ts"
import { redirect } from "../response.ts"
import type { ProxiedRequest } from "./proxied-request.ts"
import { cookieFor, cookieNameFor } from "./session-cookie.ts"

// The protected host is a normal client: it uses a code with PKCE (RFC 7636). The verifier is
// derived from a secret of this browser and the state, so a sign-in that another browser started is
// invalid here, and several tabs can sign in concurrently.

/** How long a user can take to sign in, in seconds. */
const signInSeconds = 3600

/** Longer URLs are not restored after the sign-in. */
const targetMax = 2000

type SignInOptions = {
  /** Where the user returns after the sign-in, on the same host. */
  readonly target: string
  /** Whether the user must select an account even if signed in. */
  readonly selectAccount?: boolean
}

/** Redirects the browser to the sign-in. */
export function startAuthorization(
  cx: Cx,
  proxied: ProxiedRequest,
  header: string | null,
  options: SignInOptions,
): Response {
  const secretCookie = findCookie(header ?? "", cookieNameFor(proxied, "-way"))
  const secret = secretPattern.test(secretCookie)
    ? secretCookie
    : Buffer.from(cx.random.bytes(32)).toString("base64url")
  const target = options.target.length > targetMax ? "/" : options.target
  const expires = cx.clock.now() + signInSeconds * 1000
  const state = cx.secrets.seal(
    "cookie",
    JSON.stringify([target, expires]),
    sealContextOf(cx, proxied),
  )
  const query = new URLSearchParams({
    client_id: proxied.clientId,
    redirect_uri: proxied.origin + proxiedCallback,
    response_type: "code",
    scope: "openid profile email",
    state,
    code_challenge: createHash("sha256").update(verifierOf(secret, state)).digest("base64url"),
    code_challenge_method: "S256",
    ...(options.selectAccount && { prompt: "select_account" }),
  })
  const { issuer } = issuerOf(cx)
  return redirect(
    `${issuer}${paths.authorize}?${query}`,
    cookieFor(proxied, "-way", secret, signInSeconds),
  )
}

const secretPattern = /^[\w-]{43}$/

/**
 * The target and PKCE verifier of a returning browser; undefined if this browser did not start the
 * sign-in.
 */
export function finishAuthorization(
  cx: Cx,
  proxied: ProxiedRequest,
  { state, header }: { readonly state: string; readonly header: string | null },
): { readonly target: string; readonly verifier: string } | undefined {
  const secret = findCookie(header ?? "", cookieNameFor(proxied, "-way"))
  const plain = cx.secrets.open("cookie", state, sealContextOf(cx, proxied))
  if (plain === undefined || !secretPattern.test(secret)) return undefined
  const [target, expires] = JSON.parse(plain)
  if (cx.clock.now() >= expires) return undefined
  return { target, verifier: verifierOf(secret, state) }
}

const verifierOf = (secret: string, state: string): string =>
  createHash("sha256").update(`${secret}.${state}`).digest("base64url")

const sealContextOf = (cx: Cx, { clientId, origin }: ProxiedRequest) =>
  `forward_auth/way/${cx.instance}/${clientId}/${origin}`
