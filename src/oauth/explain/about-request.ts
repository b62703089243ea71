import { findClient, type OidcApp } from "../../domain/app/index.ts"
import { because, type Cause, type Finding, findingOfAddress } from "../../domain/refusal/index.ts"
import { formType } from "../../kernel/body.ts"
import type { Cx } from "../../store/index.ts"
import { promptValues } from "../authorize/parse.ts"
import { isRegistered } from "../authorize/redirect-uri.ts"
import { responseModes } from "../authorize/response-type.ts"
import { grants } from "../grant/list.ts"
import { paths } from "../own.ts"
import { wordsOf } from "../request.ts"
import { audienceOf, grantedScopes } from "../token/scope.ts"
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
  const anybody = [
    ...repeated(refused),
    ...notAForm(refused),
    ...unknownValues(refused),
    ...wrongTarget(cx, refused),
  ]
  const state = findClient(cx, clientId)?.state
  if (state?.kind !== "oidc") return anybody
  return [...anybody, ...rules.flatMap((rule) => rule(refused, state))]
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

/** RFC 6749 §3.2: clients that send JSON, or everything in the address, find it out here. */
function notAForm({ method, contentType, path, sent }: Refused): readonly Finding[] {
  const isForm = contentType?.toLowerCase().startsWith(formType) ?? false
  if (method !== "POST" || isForm || (path === paths.userinfo && !sent.has("access_token"))) {
    return []
  }
  return [finding("content-type", contentType ?? "", [formType], "form.type")]
}

/** Parameters that have few values, of which this is none. */
function unknownValues(refused: Refused): readonly Finding[] {
  const { sent, error } = refused
  const values: readonly (readonly [name: string, known: readonly string[]])[] = [
    ...(error === "unsupported_grant_type"
      ? [["grant_type", grants.map(({ name }) => name)] as const]
      : []),
    ...(isAuthorization(refused) ? choices : []),
  ]
  return values.flatMap(([name, known]) => {
    const received = sent.get(name) ?? ""
    if (wordsOf(received).every((word) => known.includes(word))) return []
    return [finding(name, received, known, "value.unknown")]
  })
}

const choices = [
  ["prompt", promptValues],
  ["response_mode", responseModes],
] as const

/** RFC 8707 §2, RFC 8693 §2.2.2. */
function wrongTarget(cx: Cx, { sent, error }: Refused): readonly Finding[] {
  if (error !== "invalid_target") return []
  const resources = sent.getAll("resource")
  const unknown = resources.filter((uri) => audienceOf(cx, [uri]).length === 0)
  if (unknown.length > 0) return unknown.map((uri) => target("resource", uri, "resource.unknown"))
  return [
    ...resources.map((uri) => target("resource", uri, "resource.closed")),
    ...sent.getAll("audience").map((id) => target("audience", id, "resource.closed")),
  ]
}

const target = (name: string, received: string, cause: "resource.unknown" | "resource.closed") =>
  finding(name, received, [], cause)

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
