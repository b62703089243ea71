import { findClient, type OidcApp } from "../../domain/app/index.ts"
import { because, type Cause, type Finding, findingOfAddress } from "../../domain/refusal/index.ts"
import type { Cx } from "../../store/index.ts"
import { isRegistered } from "../authorize/redirect-uri.ts"
import { paths } from "../own.ts"
import { wordsOf } from "../request.ts"
import { grantedScopes } from "../token/scope.ts"
import type { Refused } from "./explain.ts"

const finding = (
  subject: string,
  received: string,
  expected: readonly string[],
  cause: Cause,
): Finding => ({ subject, received, expected, ...because(subject, cause) })

type Rule = (refused: Refused, oidc: OidcApp) => readonly Finding[]

/** What a request asks for that its application is not registered for. */
export function requestFindings(cx: Cx, refused: Refused, clientId: string): readonly Finding[] {
  const state = findClient(cx, clientId)?.state
  if (state?.kind !== "oidc") return repeated(refused)
  return [...repeated(refused), ...rules.flatMap((rule) => rule(refused, state))]
}

/** RFC 6749 §3.1: names only, since a value may be a secret. */
function repeated({ sent }: Refused): readonly Finding[] {
  // In one pass: a stranger sends thousands of names.
  const counts = new Map<string, number>()
  for (const name of sent.keys()) counts.set(name, (counts.get(name) ?? 0) + 1)
  const allowed = ["resource", "audience"]
  return [...counts]
    .filter(([name, count]) => count > 1 && !allowed.includes(name))
    .map(([name, count]) => ({
      subject: name,
      received: `${count} times`,
      expected: ["once"],
      ...because(name, "parameter.repeated"),
    }))
}

const isAuthorization = ({ path }: Refused) => path === paths.authorize || path === paths.par

const redirectUri: Rule = (refused, { oidc }) => {
  const uri = refused.sent.get("redirect_uri")
  if (!isAuthorization(refused) || uri === null || isRegistered(oidc, uri)) return []
  return [findingOfAddress("redirect_uri", uri, oidc.redirectUris)]
}

const postLogoutRedirectUri: Rule = ({ sent }, { oidc }) => {
  const subject = "post_logout_redirect_uri"
  const uri = sent.get(subject)
  if (uri === null || oidc.postLogoutRedirectUris.includes(uri)) return []
  return [findingOfAddress(subject, uri, oidc.postLogoutRedirectUris)]
}

const responseType: Rule = (refused, { oidc }) => {
  const received = refused.sent.get("response_type")
  if (!isAuthorization(refused) || received === null) return []
  const asked = wordsOf(received).toSorted().join("_")
  const expected = oidc.responseTypes.map((type) =>
    type.replaceAll("id_token_token", "id_token token"),
  )
  if (oidc.responseTypes.some((type) => type === asked)) return []
  return [finding("response_type", received, expected, "response_type.unregistered")]
}

const grantType: Rule = ({ sent, error }, { oidc }) => {
  const received = sent.get("grant_type")
  if (received === null || error !== "unauthorized_client") return []
  const expected = oidc.grantTypes.map((name) => grantNames[name])
  return [finding("grant_type", received, expected, "grant_type.unregistered")]
}

const grantNames: Readonly<Record<OidcApp["oidc"]["grantTypes"][number], string>> = {
  authorization_code: "authorization_code",
  implicit: "implicit",
  refresh_token: "refresh_token",
  device_code: "urn:ietf:params:oauth:grant-type:device_code",
  token_exchange: "urn:ietf:params:oauth:grant-type:token-exchange",
}

const challenge: Rule = (refused, { oidc }) => {
  if (!isAuthorization(refused)) return []
  const method = refused.sent.get("code_challenge_method")
  if (method !== null && method !== "S256") {
    return [finding("code_challenge_method", method, ["S256"], "pkce.plain")]
  }
  if (oidc.authMethod !== "none" || refused.sent.has("code_challenge")) return []
  return [finding("code_challenge", "", [], "pkce.missing")]
}

const scope: Rule = ({ sent, error }, app) => {
  const asked = sent.get("scope")
  if (error !== "invalid_scope" || asked === null) return []
  const known = grantedScopes(wordsOf(asked), app)
  const cause = known.includes("openid") ? "scope.more" : "scope.words"
  return [finding("scope", asked, ["openid"], cause)]
}

const rules: readonly Rule[] = [
  redirectUri,
  postLogoutRedirectUri,
  responseType,
  grantType,
  challenge,
  scope,
]
