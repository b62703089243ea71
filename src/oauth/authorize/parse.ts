import type { Asked, Prompt } from "../../domain/grant/index.ts"
import { verifyJwt } from "../../domain/key/index.ts"
import type { Cx } from "../../store/index.ts"
import { OAuthError } from "../error.ts"
import { ownOf } from "../own.ts"
import { type Parameters, parametersOf, required, wordsOf } from "../request.ts"
import { audienceOf, grantedScopes, projectsAsAudience } from "../token/scope.ts"
import type { ReturnPath } from "./client.ts"

/** Everything a client asked for, checked. */
export type Checked = { readonly asked: Asked; readonly loginHint: string }

/** Reads an authorization request; what is wrong with it goes back to the client. */
export function parseRequest(cx: Cx, back: ReturnPath, search: URLSearchParams): Checked {
  const parameters = parametersOf(search)
  refuseUnsupported(parameters)
  checkResponse(parameters, back)
  const scopes = scopesOf(parameters, back)
  const { clientId, appId, app, redirectUri, responseMode, state } = back
  const nonce = parameters.get("nonce")
  const challenge = challengeOf(parameters, app.oidc.authMethod === "none")
  const maxAge = maxAgeOf(parameters)
  const hintedUser = hintedUserOf(cx, parameters)
  const projects = [...projectsAsAudience(cx, [app.projectId]), ...audienceOf(cx, scopes)]
  const audience = [...new Set([clientId, ...projects])]
  const asked: Asked = {
    clientId,
    appId,
    redirectUri,
    responseMode,
    scopes,
    audience,
    prompts: [...promptsOf(parameters), ...extraPrompts(cx, app.projectId, audience)],
    languages: wordsOf(parameters.get("ui_locales")).slice(0, languagesMax),
    ...(state !== undefined && { state }),
    ...(nonce !== undefined && { nonce }),
    ...(challenge !== undefined && { challenge }),
    ...(maxAge !== undefined && { maxAge }),
    ...(hintedUser !== undefined && { hintedUser }),
  }
  return { asked, loginHint: (parameters.get("login_hint") ?? "").slice(0, loginHintMax) }
}

const languagesMax = 10
const loginHintMax = 200

/** OpenID Connect Core §3.1.2.6 has an error of its own for each of these. */
function refuseUnsupported(parameters: Parameters): void {
  if (parameters.has("request")) {
    throw new OAuthError("request_not_supported", "request objects are not supported")
  }
  if (parameters.has("request_uri")) {
    throw new OAuthError("request_uri_not_supported", "request_uri is not supported")
  }
  if (parameters.has("registration")) {
    throw new OAuthError("registration_not_supported", "registration is not supported")
  }
}

function checkResponse(parameters: Parameters, { app }: ReturnPath): void {
  if (required(parameters, "response_type") !== "code") {
    throw new OAuthError("unsupported_response_type", "response_type must be code")
  }
  const { responseTypes, grantTypes } = app.oidc
  if (!responseTypes.includes("code") || !grantTypes.includes("authorization_code")) {
    throw new OAuthError("unauthorized_client", "this client may not use response_type code")
  }
  const mode = parameters.get("response_mode") ?? "query"
  if (!responseModes.some((known) => known === mode)) {
    throw new OAuthError("invalid_request", `response_mode must be ${responseModes.join(", ")}`)
  }
}

/** How an answer travels; discovery names them. */
export const responseModes = ["query", "fragment", "form_post"] as const

/** OpenID Connect Core §3.1.2.1. */
function scopesOf(parameters: Parameters, { app }: ReturnPath): readonly string[] {
  const scopes = grantedScopes(wordsOf(parameters.get("scope")), app)
  if (scopes.includes("openid")) return scopes
  throw new OAuthError("invalid_scope", "scope must contain openid")
}

/** What `prompt` may say; discovery names them. */
export const promptValues = ["none", "login", "select_account", "consent"] as const

function promptsOf(parameters: Parameters): readonly Prompt[] {
  const prompts = wordsOf(parameters.get("prompt")).map((word) => {
    const known = promptValues.find((value) => value === word)
    if (known) return known
    throw new OAuthError("invalid_request", `prompt must be ${promptValues.join(", ")}`)
  })
  if (prompts.includes("none") && prompts.length > 1) {
    throw new OAuthError("invalid_request", "prompt none stands alone")
  }
  return prompts
}

/**
 * A token for the management interface is worth all that its person may do. Nobody hands that to
 * an application unasked, by a session that answers silently; our own applications are ourselves.
 */
function extraPrompts(cx: Cx, projectId: string, audience: readonly string[]): readonly Prompt[] {
  const own = ownOf(cx).projectId
  return audience.includes(own) && projectId !== own ? ["consent"] : []
}

function maxAgeOf(parameters: Parameters): number | undefined {
  const text = parameters.get("max_age")
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new OAuthError("invalid_request", "max_age must be a number of seconds")
}

/** RFC 7636 §4.3 and RFC 9700 §2.1.1: S256 alone, and required of clients without a secret. */
function challengeOf(parameters: Parameters, isPublic: boolean): string | undefined {
  const challenge = parameters.get("code_challenge")
  const method = parameters.get("code_challenge_method")
  if (challenge === undefined && method === undefined) {
    if (!isPublic) return undefined
    throw new OAuthError("invalid_request", "code_challenge is missing: this client must use PKCE")
  }
  if (method !== "S256") {
    throw new OAuthError("invalid_request", "code_challenge_method must be S256")
  }
  if (challenge !== undefined && /^[\w-]{43}$/.test(challenge)) return challenge
  throw new OAuthError("invalid_request", "code_challenge must be a SHA-256 hash in base64url")
}

/** OpenID Connect Core §3.1.2.1: an id_token of ours, which may have expired. */
function hintedUserOf(cx: Cx, parameters: Parameters): string | undefined {
  const hint = parameters.get("id_token_hint")
  if (hint === undefined) return undefined
  const claims = readHint(cx, hint)
  if (typeof claims?.sub === "string") return claims.sub
  throw new OAuthError("invalid_request", "id_token_hint is not an id_token of this issuer")
}

/** The claims of an id_token that was issued here, expired or not; undefined for anything else. */
export function readHint(cx: Cx, hint: string) {
  const claims = verifyJwt(cx, hint, { typ: "JWT", algorithms: ["RS256"], expired: "accepted" })
  return claims?.iss === ownOf(cx).issuer ? claims : undefined
}
