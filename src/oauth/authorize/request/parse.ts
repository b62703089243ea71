import { acceptsPlainOauth, needsPkce, type OidcApp } from "../../../domain/app/index.ts"
import type { Prompt, Requested, ResponseType } from "../../../domain/grant/index.ts"
import { about, because, findingOfAddress } from "../../../domain/refusal/index.ts"
import type { Cx } from "../../../store/index.ts"
import { findingsInJwt, textOf } from "../../client/jwt.ts"
import { OAuthError } from "../../error.ts"
import { issuerOf } from "../../issuer.ts"
import { type Parameters, parametersOf, valueFinding, wordsOf } from "../../request.ts"
import { foreignAmong } from "../../token/audience.ts"
import { readJwt } from "../../token/claims/kind.ts"
import { plainTargetError, resourcesOf } from "../../token/resource.ts"
import {
  audienceOf,
  grantedScopes,
  isPlain,
  leftOut,
  orgRestriction,
  projectsAsAudience,
  scopesWithoutOurs,
  withApiScopes,
  withoutOurs,
} from "../../token/scope.ts"
import type { ReturnPath } from "../client.ts"
import { languagesOf } from "../language.ts"
import { claimsWantedOf } from "./claims-parameter.ts"
import { responseTypeOf } from "./response-type.ts"

/** Everything a client asked for, checked. */
export type Checked = { readonly asked: Requested; readonly loginHint: string }

/** Reads an authorization request; what is wrong with it goes back to the client. */
export function parseRequest(cx: Cx, back: ReturnPath, search: URLSearchParams): Checked {
  const parameters = parametersOf(search)
  refuseUnsupported(parameters)
  const { clientId, appId, app, redirectUri, responseMode, state } = back
  const responseType = responseTypeOf(parameters, app.oidc)
  const granted = scopesOf(cx, parameters, { app, responseType })
  const projects = projectsOf(cx, parameters, { app, scopes: granted })
  const audience = [...new Set([clientId, ...projects])]
  const requested = wordsOf(parameters.get("scope"))
  const scopes = withApiScopes(cx, requested, { granted, audience })
  const asked: Requested = {
    clientId,
    appId,
    redirectUri,
    responseType,
    responseMode,
    scopes,
    ...leftOut(requested, scopes),
    audience,
    ...foreignAmong(cx, { appId, projectId: app.projectId }, projects),
    prompts: promptsOf(parameters),
    languages: languagesOf(parameters.get("ui_locales")),
    ...given({
      state,
      pushed: back.pushed,
      testedBy: back.testedBy,
      nonce: nonceOf(parameters, responseType),
      challenge: challengeOf(cx, parameters, responseType === "code" ? app : undefined),
      dpopJkt: dpopJktOf(parameters),
      maxAge: maxAgeOf(parameters),
      home: orgRestriction(cx, scopes),
      acrValues: acrValuesOf(parameters),
      ...personOf(cx, parameters),
    }),
  }
  return { asked, loginHint: (parameters.get("login_hint") ?? "").slice(0, loginHintMax) }
}

const loginHintMax = 200

type Defined<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> }

/** Only what is there: an event keeps no empty members. */
function given<T extends object>(fields: T): Defined<T>
function given(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

/** OpenID Connect Core §3.1.2.6 has an error of its own for it. */
function refuseUnsupported(parameters: Parameters): void {
  if (parameters.has("registration")) {
    throw new OAuthError("registration_not_supported", "registration is not supported")
  }
}

/** Projects that the tokens will be for: its own, and those that scopes and resources name. */
function projectsOf(
  cx: Cx,
  parameters: Parameters,
  { app, scopes }: { readonly app: OidcApp; readonly scopes: readonly string[] },
): readonly string[] {
  const own = projectsAsAudience(cx, [app.projectId])
  const resources = resourcesOf(cx, parameters)
  const projects = [...own, ...audienceOf(cx, scopes), ...resources]
  if (!isPlain(scopes, app)) return projects
  if (withoutOurs(cx, resources) !== resources) throw plainTargetError(parameters)
  return withoutOurs(cx, projects)
}

/** Who may sign in, how, and what is told of them, beside what the scopes say. */
function personOf(cx: Cx, parameters: Parameters) {
  const { idToken, userinfo, userId, acr, isFactorNeeded } = claimsWantedOf(parameters)
  const hinted = hintedUserOf(cx, parameters)
  if (userId !== undefined && hinted !== undefined && userId !== hinted) {
    throw new OAuthError("invalid_request", "id_token_hint and claims name different users")
  }
  const claims = idToken.length + userinfo.length > 0 ? { idToken, userinfo } : undefined
  const needsFactor = isFactorNeeded || undefined
  return { hintedUser: hinted ?? userId, claims, acr, needsFactor }
}

/** OpenID Connect Core §3.2.2.1 and §15.5.2: without a nonce, an id_token could be replayed. */
function nonceOf(parameters: Parameters, type: ResponseType): string | undefined {
  const nonce = parameters.get("nonce")
  if (nonce !== undefined || type === "code") return nonce
  throw new OAuthError("invalid_request", `nonce is missing: response_type ${type} needs one`)
}

type ScopeRules = { readonly app: OidcApp; readonly responseType: ResponseType }

/**
 * OpenID Connect Core §3.1.2.1: the scope openid is required, but for a code of a client that can
 * use plain OAuth 2.0.
 */
function scopesOf(
  cx: Cx,
  parameters: Parameters,
  { app, responseType }: ScopeRules,
): readonly string[] {
  const scopes = grantedScopes(wordsOf(parameters.get("scope")), app)
  if (!scopes.includes("openid")) {
    if (responseType === "code" && acceptsPlainOauth(app)) return scopesWithoutOurs(cx, scopes)
    const received = parameters.get("scope") ?? ""
    const finding = {
      subject: "scope",
      received,
      expected: ["openid"],
      ...because("scope", "scope.words"),
    }
    throw new OAuthError("invalid_scope", "scope must contain openid", { finding })
  }
  // OpenID Connect Core §11: only a code can be exchanged for a refresh token.
  return responseType === "code" ? scopes : scopes.filter((scope) => scope !== "offline_access")
}

/** What `prompt` may say; discovery names them. */
export const promptValues = ["none", "login", "select_account", "consent", "create"] as const

function promptsOf(parameters: Parameters): readonly Prompt[] {
  const prompts = wordsOf(parameters.get("prompt")).map((word) => {
    const known = promptValues.find((value) => value === word)
    if (known) return known
    const finding = valueFinding("prompt", parameters.get("prompt") ?? "", promptValues)
    throw new OAuthError("invalid_request", `prompt must be ${promptValues.join(", ")}`, {
      finding,
    })
  })
  if (prompts.includes("none") && prompts.length > 1) {
    throw new OAuthError("invalid_request", "prompt none stands alone")
  }
  return prompts
}

/** As they were sent: a provider that people come by can know others than we do. */
function acrValuesOf(parameters: Parameters): readonly string[] | undefined {
  const values = wordsOf(parameters.get("acr_values")).slice(0, acrValuesMax)
  return values.length > 0 && values.every(({ length }) => length <= 200) ? values : undefined
}

const acrValuesMax = 10

function maxAgeOf(parameters: Parameters): number | undefined {
  const text = parameters.get("max_age")
  if (text === undefined) return undefined
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new OAuthError("invalid_request", "max_age must be a number of seconds")
}

/** RFC 7636 §4.3 and RFC 9700 §2.1.1: S256 alone, and required where `app` is to get a code. */
function challengeOf(cx: Cx, parameters: Parameters, app: OidcApp | undefined): string | undefined {
  const challenge = parameters.get("code_challenge")
  const method = parameters.get("code_challenge_method")
  if (challenge === undefined && method === undefined) {
    if (!app || !needsPkce(cx, app)) return undefined
    const isPublic = app.oidc.authMethod === "none"
    throw new OAuthError(
      "invalid_request",
      "code_challenge is missing: this client must use PKCE",
      {
        finding: about("code_challenge", isPublic ? "pkce.missing" : "pkce.required"),
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
        ...because(subject, "pkce.plain"),
      },
    })
  }
  if (challenge !== undefined && /^[\w-]{43}$/.test(challenge)) return challenge
  throw new OAuthError("invalid_request", "code_challenge must be a SHA-256 hash in base64url")
}

/** RFC 9449 §10: the thumbprint of a key, which the code will be worth nothing without. */
function dpopJktOf(parameters: Parameters): string | undefined {
  const jkt = parameters.get("dpop_jkt")
  if (jkt === undefined || /^[\w-]{43}$/.test(jkt)) return jkt
  throw new OAuthError("invalid_request", "dpop_jkt must be a SHA-256 thumbprint in base64url")
}

/** OpenID Connect Core §3.1.2.1: an id_token of ours, which may have expired. */
function hintedUserOf(cx: Cx, parameters: Parameters): string | undefined {
  const hint = parameters.get("id_token_hint")
  if (hint === undefined) return undefined
  const claims = readHint(cx, hint)
  if (typeof claims?.sub === "string") return claims.sub
  throw foreignHintError(cx, hint)
}

/** The claims of an id_token that was issued here, expired or not; undefined for anything else. */
export const readHint = (cx: Cx, hint: string) =>
  readJwt(cx, hint, { kind: "id_token", expired: "accepted" })?.claims

/** What is wrong with an id_token that is not of this issuer. */
export const foreignHintError = (cx: Cx, hint: string): OAuthError =>
  new OAuthError("invalid_request", "id_token_hint is not an id_token of this issuer", {
    finding: () => {
      const { issuer } = issuerOf(cx)
      return findingsInJwt(hint, {
        subject: "id_token_hint",
        beside: ({ iss }) => [
          iss !== issuer && findingOfAddress("iss of id_token_hint", textOf(iss), [issuer]),
        ],
        otherwise: "hint.changed",
      })
    },
  })
