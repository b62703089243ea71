import type { JWTPayload } from "jose"
import type { Cx } from "../../../store/index.ts"
import { requireInstance } from "../../instance/index.ts"
import type { Settings } from "../model.ts"
import { type ProviderAnswer, upstreamError } from "./identity.ts"
import { verifyClaims } from "./keys.ts"
import { oidcProfile } from "./profile.ts"
import { formatClaim, refusedAnswer } from "./refused-answer.ts"
import { statedSignInTime } from "./sign-in-time.ts"

type JwtSettings = Extract<Settings, { kind: "jwt" }>

/** Callback path of all JWT providers. */
export const tokenPath = "/idps/jwt"

/**
 * The URL to send the browser to: the service, or a proxy in front of it, redirects to `tokenPath`
 * with the same two parameters and the token in a header.
 */
export function createTokenUrl({ jwtEndpoint }: JwtSettings, state: string): string {
  const [id = "", secret = ""] = state.split(".")
  const url = new URL(jwtEndpoint)
  url.searchParams.set("authRequestID", id)
  url.searchParams.set("userAgentID", secret)
  return url.href
}

/** The state from the two callback parameters. */
export const parseTokenState = (parameters: URLSearchParams): string =>
  `${parameters.get("authRequestID") ?? ""}.${parameters.get("userAgentID") ?? ""}`

const tokenMax = 16_384

/**
 * RFC 7519 §7.2: verifies the token in the header and returns its subject. Only keys of the
 * configured endpoint and asymmetric signatures are accepted (RFC 8725 §3.1).
 */
export async function parseTokenAnswer(
  cx: Cx,
  settings: JwtSettings,
  headers: Headers,
): Promise<ProviderAnswer> {
  const { issuer, keysEndpoint, headerName } = settings
  const token = (headers.get(headerName) ?? "").replace(/^bearer /i, "").trim()
  if (token === "" || token.length > tokenMax) throw upstreamError("answer_refused")
  const source = { name: `jwt ${keysEndpoint}`, url: async () => keysEndpoint }
  const payload = await verifyClaims(cx, token, { source, subject: "token" })
  validateIssuer(payload, issuer)
  // RFC 7519 §4.1.3: reject a token for another audience.
  const { aud = [] } = payload
  const names = typeof aud === "string" ? [aud] : aud
  if (names.length > 0 && !names.includes(requireInstance(cx).publicUrl)) {
    const { publicUrl } = requireInstance(cx)
    const received = formatClaim(aud)
    throw refusedAnswer({ rule: "aud", subject: "aud", received, expected: [publicUrl] })
  }
  const identity = oidcProfile(payload)
  return { identity, raw: payload, accessToken: "", idToken: token, ...statedSignInTime(payload) }
}

/** RFC 7519 §4.1.1 and §4.1.4: requires the issuer and an expiration time. */
function validateIssuer({ iss, exp }: JWTPayload, issuer: string): void {
  if (iss !== issuer) {
    const received = formatClaim(iss)
    throw refusedAnswer({ rule: "iss", subject: "iss", received, expected: [issuer] })
  }
  if (exp !== undefined) return
  throw refusedAnswer({ rule: "exp", subject: "exp", received: "", expected: ["a number"] })
}
