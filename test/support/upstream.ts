// A simulated third-party identity provider, which responds as the test sets it.
import { createHash } from "node:crypto"
import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose"
import type { OutboundRequest, Outside } from "../../src/kernel/port/outbound.ts"
import { unreachableOutside } from "./outside.ts"

export const upstreamIssuer = "https://idp.example.com"

type Claims = Readonly<Record<string, unknown>>

/** The false data in its responses. */
export type ResponseOverrides = {
  /** Overrides fields of the discovery document. */
  readonly discovery?: Claims
  /** Overrides claims of the ID token. */
  readonly idToken?: Claims
  /** Overrides claims of the profile. */
  readonly userinfo?: Claims
  /** Signs with an unpublished key. */
  readonly foreignKey?: boolean
  /** Accepts any verifier. */
  readonly status?: number
  readonly body?: string
}

export type Upstream = {
  readonly outside: Outside
  /** The requests that it received, oldest first. */
  readonly requests: OutboundRequest[]
  /** Signs a user in as in a redirected browser; returns the callback URL. */
  readonly signIn: (authUrl: string, claims: Claims) => string
  overrides: ResponseOverrides
}

type Code = { readonly claims: Claims; readonly nonce: string; readonly challenge: string }

export async function openUpstream(): Promise<Upstream> {
  const [own, foreign] = await Promise.all([generateKeyPair("RS256"), generateKeyPair("RS256")])
  const jwk: JWK = { ...(await exportJWK(own.publicKey)), kid: "k1", alg: "RS256", use: "sig" }
  const codes = new Map<string, Code>()
  const requests: OutboundRequest[] = []
  let profile: Claims = {}

  const token = async (form: URLSearchParams): Promise<Claims | undefined> => {
    const code = codes.get(form.get("code") ?? "")
    codes.delete(form.get("code") ?? "")
    const verifier = form.get("code_verifier") ?? ""
    const challenge = createHash("sha256").update(verifier).digest("base64url")
    if (!code || (code.challenge !== "" && challenge !== code.challenge)) return undefined
    profile = code.claims
    const now = Math.floor(Date.now() / 1000)
    const claims = {
      iss: upstreamIssuer,
      aud: "client",
      iat: now,
      exp: now + 300,
      nonce: code.nonce,
      sub: String(code.claims.sub),
      ...upstream.overrides.idToken,
    }
    const key = upstream.overrides.foreignKey ? foreign.privateKey : own.privateKey
    const idToken = await new SignJWT(claims)
      .setProtectedHeader({ alg: "RS256", kid: "k1" })
      .sign(key)
    return { access_token: "at", token_type: "Bearer", expires_in: 300, id_token: idToken }
  }

  const answers = async ({ url, body = "" }: OutboundRequest): Promise<unknown> => {
    const { pathname } = new URL(url)
    if (pathname === "/.well-known/openid-configuration") {
      return { ...discovery, ...upstream.overrides.discovery }
    }
    if (pathname === "/keys") return { keys: [jwk] }
    if (pathname === "/userinfo") return { ...profile, ...upstream.overrides.userinfo }
    if (pathname === "/token") return token(new URLSearchParams(body))
    return undefined
  }

  const upstream: Upstream = {
    requests,
    overrides: {},
    outside: {
      ...unreachableOutside,
      send: async (request) => {
        requests.push(request)
        const { status, body } = upstream.overrides
        if (status !== undefined) return { status, body: body ?? "" }
        const response = await answers(request)
        return response === undefined
          ? { status: 400, body: '{"error":"invalid_grant"}' }
          : { status: 200, body: JSON.stringify(response) }
      },
    },
    signIn: (authUrl, claims) => {
      const { searchParams } = new URL(authUrl)
      const code = `code${codes.size + 1}-${requests.length}`
      codes.set(code, {
        claims,
        nonce: searchParams.get("nonce") ?? "",
        challenge: searchParams.get("code_challenge") ?? "",
      })
      const back = new URL(searchParams.get("redirect_uri") ?? "")
      back.searchParams.set("code", code)
      back.searchParams.set("state", searchParams.get("state") ?? "")
      back.searchParams.set("iss", upstreamIssuer)
      return back.pathname + back.search
    },
  }
  return upstream
}

const discovery = {
  issuer: upstreamIssuer,
  authorization_endpoint: `${upstreamIssuer}/authorize`,
  token_endpoint: `${upstreamIssuer}/token`,
  userinfo_endpoint: `${upstreamIssuer}/userinfo`,
  jwks_uri: `${upstreamIssuer}/keys`,
  response_types_supported: ["code"],
  subject_types_supported: ["public"],
  id_token_signing_alg_values_supported: ["RS256"],
  authorization_response_iss_parameter_supported: true,
}
