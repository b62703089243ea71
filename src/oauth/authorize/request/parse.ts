import { acceptsPlainOauth, type OidcApp, requiresPkce } from "../../../domain/app/index.ts"
import type { AuthorizationRequest, Prompt, ResponseType } from "../../../domain/grant/index.ts"
import { findingOfUri, findingWithoutValue, likelyCauseOf } from "../../../domain/refusal/index.ts"
import type { Cx } from "../../../store/index.ts"
import { findingsInJwt, textOf } from "../../client/jwt.ts"
import { OAuthError } from "../../error.ts"
import { issuerOf } from "../../issuer.ts"
import { type Parameters, parseParameters, splitWords, valueFinding } from "../../parameters.ts"
import { foreignProjectsAmong } from "../../token/audience.ts"
import { verifyJwtOfKind } from "../../token/claims/kind.ts"
import { parseResources, plainTargetError } from "../../token/resource.ts"
import {
  audienceOf,
  droppedScopes,
  grantedScopes,
  isPlain,
  orgRestriction,
  projectsAsAudience,
  scopesWithoutManagementApi,
  withApiScopes,
  withoutManagementApi,
} from "../../token/scope.ts"
import type { ValidatedRedirect } from "../client.ts"
import { parseLanguages } from "../language.ts"
import { parseClaimsRequest } from "./claims-parameter.ts"
import { parseResponseType } from "./response-type.ts"

/** A validated authorization request. */
export type ParsedRequest = { readonly asked: AuthorizationRequest; readonly loginHint: string }

/** Parses an authorization request; errors are sent to the client. */
export function parseRequest(
  cx: Cx,
  validated: ValidatedRedirect,
  search: URLSearchParams,
): ParsedRequest {
  const parameters = parseParameters(search)
  rejectUnsupported(parameters)
  const { clientId, appId, app, redirectUri, responseMode, state } = validated
  const responseType = parseResponseType(parameters, app.oidc)
  const granted = parseScopes(cx, parameters, { app, responseType })
  const projects = projectsOf(cx, parameters, { app, scopes: granted })
  const audience = [...new Set([clientId, ...projects])]
  const requested = splitWords(parameters.get("scope"))
  const scopes = withApiScopes(cx, requested, { granted, audience })
  const asked: AuthorizationRequest = {
    clientId,
    appId,
    redirectUri,
    responseType,
    responseMode,
    scopes,
    ...droppedScopes(requested, scopes),
    audience,
    ...foreignProjectsAmong(cx, { appId, projectId: app.projectId }, projects),
    prompts: parsePrompts(parameters),
    languages: parseLanguages(parameters.get("ui_locales")),
    ...omitUndefined({
      state,
      pushed: validated.pushed,
      testedBy: validated.testedBy,
      nonce: parseNonce(parameters, responseType),
      challenge: parseChallenge(cx, parameters, responseType === "code" ? app : undefined),
      dpopJkt: parseDpopJkt(parameters),
      maxAge: parseMaxAge(parameters),
      home: orgRestriction(cx, scopes),
      acrValues: parseAcrValues(parameters),
      ...userRequirementsOf(cx, parameters),
    }),
  }
  return { asked, loginHint: (parameters.get("login_hint") ?? "").slice(0, loginHintMax) }
}

const loginHintMax = 200

type Defined<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> }

/** Omits undefined members, which events don't contain. */
function omitUndefined<T extends object>(fields: T): Defined<T>
function omitUndefined(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** OpenID Connect Core §3.1.2.6 defines its own error for it. */
function rejectUnsupported(parameters: Parameters): void {
  if (parameters.has("registration")) {
    throw new OAuthError("registration_not_supported", "registration is not supported")
  }
}

/** Projects in the audience of the tokens: the client's own, and those in scopes and resources. */
function projectsOf(
  cx: Cx,
  parameters: Parameters,
  { app, scopes }: { readonly app: OidcApp; readonly scopes: readonly string[] },
): readonly string[] {
  const own = projectsAsAudience(cx, [app.projectId])
  const resources = parseResources(cx, parameters)
  const projects = [...own, ...audienceOf(cx, scopes), ...resources]
  if (!isPlain(scopes, app)) return projects
  if (withoutManagementApi(cx, resources) !== resources) throw plainTargetError(parameters)
  return withoutManagementApi(cx, projects)
}

/** The accepted users, the required authentication and the requested claims. */
function userRequirementsOf(cx: Cx, parameters: Parameters) {
  const { idToken, userinfo, userId, acr, isFactorRequired } = parseClaimsRequest(parameters)
  const hinted = parseHintedUser(cx, parameters)
  if (userId !== undefined && hinted !== undefined && userId !== hinted) {
    throw new OAuthError("invalid_request", "id_token_hint and claims name different users")
  }
  const claims = idToken.length + userinfo.length > 0 ? { idToken, userinfo } : undefined
  const needsFactor = isFactorRequired || undefined
  return { hintedUser: hinted ?? userId, claims, acr, needsFactor }
}

/** OpenID Connect Core §3.2.2.1 and §15.5.2: without a nonce, an ID token could be replayed. */
function parseNonce(parameters: Parameters, type: ResponseType): string | undefined {
  const nonce = parameters.get("nonce")
  if (nonce !== undefined || type === "code") return nonce
  throw new OAuthError("invalid_request", `nonce is required for response_type ${type}`)
}

type ScopeRules = { readonly app: OidcApp; readonly responseType: ResponseType }

/**
 * OpenID Connect Core §3.1.2.1: the scope openid is required, except for a code of a client that
 * can use plain OAuth 2.0.
 */
function parseScopes(
  cx: Cx,
  parameters: Parameters,
  { app, responseType }: ScopeRules,
): readonly string[] {
  const scopes = grantedScopes(splitWords(parameters.get("scope")), app)
  if (!scopes.includes("openid")) {
    if (responseType === "code" && acceptsPlainOauth(app))
      return scopesWithoutManagementApi(cx, scopes)
    const received = parameters.get("scope") ?? ""
    const finding = {
      subject: "scope",
      received,
      expected: ["openid"],
      ...likelyCauseOf("scope", "scope.words"),
    }
    throw new OAuthError("invalid_scope", "scope must contain openid", { finding })
  }
  // OpenID Connect Core §11: only a code can be exchanged for a refresh token.
  return responseType === "code" ? scopes : scopes.filter((scope) => scope !== "offline_access")
}

/** Values of `prompt`; also in the discovery document. */
export const promptValues = ["none", "login", "select_account", "consent", "create"] as const

function parsePrompts(parameters: Parameters): readonly Prompt[] {
  const prompts = splitWords(parameters.get("prompt")).map((word) => {
    const supportedPrompt = promptValues.find((value) => value === word)
    if (supportedPrompt) return supportedPrompt
    const finding = valueFinding("prompt", parameters.get("prompt") ?? "", promptValues)
    throw new OAuthError("invalid_request", `prompt must be one of: ${promptValues.join(", ")}`, {
      finding,
    })
  })
  if (prompts.includes("none") && prompts.length > 1) {
    throw new OAuthError("invalid_request", "prompt none can't be combined with other values")
  }
  return prompts
}

/** As sent, because an upstream provider may support other values. */
function parseAcrValues(parameters: Parameters): readonly string[] | undefined {
  const values = splitWords(parameters.get("acr_values")).slice(0, acrValuesMax)
  return values.length > 0 && values.every(({ length }) => length <= 200) ? values : undefined
}

const acrValuesMax = 10

function parseMaxAge(parameters: Parameters): number | undefined {
  const text = parameters.get("max_age")
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new OAuthError("invalid_request", "max_age must be a number of seconds")
}

/** RFC 7636 §4.3 and RFC 9700 §2.1.1: only S256, and required if `app` must use PKCE. */
function parseChallenge(
  cx: Cx,
  parameters: Parameters,
  app: OidcApp | undefined,
): string | undefined {
  const challenge = parameters.get("code_challenge")
  const method = parameters.get("code_challenge_method")
  if (challenge === undefined && method === undefined) {
    if (!app || !requiresPkce(cx, app)) return undefined
    const isPublic = app.oidc.authMethod === "none"
    throw new OAuthError(
      "invalid_request",
      "code_challenge is required: this client must use PKCE",
      {
        finding: findingWithoutValue("code_challenge", isPublic ? "pkce.missing" : "pkce.required"),
      },
    )
  }
  if (method !== "S256") {
    const subject = "code_challenge_method"
    throw new OAuthError("invalid_request", "code_challenge_method must be S256", {
      finding: {
        subject,
        received: method ?? "",
        expected: ["S256"],
        ...likelyCauseOf(subject, "pkce.plain"),
      },
    })
  }
  if (challenge !== undefined && /^[\w-]{43}$/.test(challenge)) return challenge
  throw new OAuthError("invalid_request", "code_challenge must be a SHA-256 hash in base64url")
}

/** RFC 9449 §10: the thumbprint of the key that the code is bound to. */
function parseDpopJkt(parameters: Parameters): string | undefined {
  const jkt = parameters.get("dpop_jkt")
  if (jkt === undefined || /^[\w-]{43}$/.test(jkt)) return jkt
  throw new OAuthError("invalid_request", "dpop_jkt must be a SHA-256 thumbprint in base64url")
}

/** OpenID Connect Core §3.1.2.1: an ID token of this issuer; it may have expired. */
function parseHintedUser(cx: Cx, parameters: Parameters): string | undefined {
  const hint = parameters.get("id_token_hint")
  if (hint === undefined) return undefined
  const claims = verifyIdTokenHint(cx, hint)
  if (typeof claims?.sub === "string") return claims.sub
  throw foreignHintError(cx, hint)
}

/** The claims of an ID token that was issued here, expired or not; undefined if it is invalid. */
export const verifyIdTokenHint = (cx: Cx, hint: string) =>
  verifyJwtOfKind(cx, hint, { kind: "id_token", expired: "accepted" })?.claims

/** The error for an ID token of another issuer. */
export const foreignHintError = (cx: Cx, hint: string): OAuthError =>
  new OAuthError("invalid_request", "id_token_hint was not issued by this issuer", {
    finding: () => {
      const { issuer } = issuerOf(cx)
      return findingsInJwt(hint, {
        subject: "id_token_hint",
        compare: ({ iss }) => [
          iss !== issuer && findingOfUri("iss of id_token_hint", textOf(iss), [issuer]),
        ],
        fallbackCause: "hint.changed",
      })
    },
  })
