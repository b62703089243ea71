import type { JWTPayload } from "jose"
import type { Cx } from "../../../store/index.ts"
import { requireInstance } from "../../instance/index.ts"
import type { Settings } from "../model.ts"
import { oidcProfile } from "./dialect.ts"
import { type Answer, upstreamError } from "./identity.ts"
import { verifiedClaims } from "./keys.ts"
import { refusedAnswer, shownClaim } from "./refused.ts"
import { statedIn } from "./sign-in-time.ts"

type Signing = Extract<Settings, { kind: "jwt" }>

/** Where the browsers of all services that sign JWTs come back to. */
export const tokenPath = "/idps/jwt"

/**
 * The address that a browser is sent to: the service, or what stands before it, sends it on to
 * `tokenPath` with the same two parameters and the token in its header.
 */
export function tokenUrl({ jwtEndpoint }: Signing, state: string): string {
  const [id = "", secret = ""] = state.split(".")
  const url = new URL(jwtEndpoint)
  url.searchParams.set("authRequestID", id)
  url.searchParams.set("userAgentID", secret)
  return url.href
}

/** The state that has come back in two parameters. */
export const tokenState = (parameters: URLSearchParams): string =>
  `${parameters.get("authRequestID") ?? ""}.${parameters.get("userAgentID") ?? ""}`

const tokenMax = 16_384

/**
 * RFC 7519 §7.2: who a token in the header is about, which its issuer has signed for us. Only keys
 * of the endpoint that was set up count, and only signatures with public keys (RFC 8725 §3.1).
 */
export async function tokenAnswer(cx: Cx, settings: Signing, headers: Headers): Promise<Answer> {
  const { issuer, keysEndpoint, headerName } = settings
  const token = (headers.get(headerName) ?? "").replace(/^bearer /i, "").trim()
  if (token === "" || token.length > tokenMax) throw upstreamError("answer_refused")
  const source = { name: `jwt ${keysEndpoint}`, url: async () => keysEndpoint }
  const payload = await verifiedClaims(cx, token, { source, subject: "token" })
  mustBeIssued(payload, issuer)
  // RFC 7519 §4.1.3: a token that names others signs nobody in here.
  const { aud = [] } = payload
  const names = typeof aud === "string" ? [aud] : aud
  if (names.length > 0 && !names.includes(requireInstance(cx).publicUrl)) {
    const { publicUrl } = requireInstance(cx)
    const received = shownClaim(aud)
    throw refusedAnswer({ rule: "aud", subject: "aud", received, expected: [publicUrl] })
  }
  const identity = oidcProfile(payload)
  return { identity, raw: payload, accessToken: "", idToken: token, ...statedIn(payload) }
}

/** RFC 7519 §4.1.1 and §4.1.4: from this issuer, and with an end. */
function mustBeIssued({ iss, exp }: JWTPayload, issuer: string): void {
  if (iss !== issuer) {
    const received = shownClaim(iss)
    throw refusedAnswer({ rule: "iss", subject: "iss", received, expected: [issuer] })
  }
  if (exp !== undefined) return
  throw refusedAnswer({ rule: "exp", subject: "exp", received: "", expected: ["a number"] })
}
