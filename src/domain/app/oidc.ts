import { Fault, fieldError } from "../../kernel/fault.ts"
import { type Concern, judge, malformationOf, uriLengthMax } from "../../protocol/redirect-uri.ts"
import type { Cx, Decision } from "../../store/index.ts"
import { checkLifetimes, isOnlyInstance, noKeyError, requireInstance } from "../instance/index.ts"
import { activeOf } from "../key/index.ts"
import { checkAccessRules } from "./forward-auth.ts"
import type { LoginVersion, OidcConfig, ResponseType, TokenConfig } from "./model.ts"

/** What an application has that says nothing else. */
export const oidcDefaults: OidcConfig = {
  redirectUris: [],
  postLogoutRedirectUris: [],
  responseTypes: ["code"],
  grantTypes: ["authorization_code"],
  appType: "web",
  authMethod: "basic",
  tokenType: "bearer",
  devMode: false,
  clockSkewSeconds: 0,
  accessTokenRoleAssertion: false,
  idTokenRoleAssertion: false,
  idTokenUserinfoAssertion: false,
  idTokenProjectAudience: false,
  idTokenClientId: false,
  genericRolesClaim: false,
  additionalOrigins: [],
  skipNativeAppSuccessPage: false,
  backChannelLogoutUri: "",
  loginVersion: { version: "unspecified" },
}

/** What is requested of a configuration: what an administrator of the instance allows is a flag. */
export type OidcInput = Omit<Partial<OidcConfig>, "backChannelPrivate"> & {
  /** Whether sign-out notices may go to an address in a private network. */
  readonly isBackChannelPrivate?: boolean
}

/**
 * The origin in a private network that sign-out notices may go to; empty for none. A permission
 * ends with the origin that it is for. Refuses a new one to callers without `iam.write`.
 */
export function privateOriginOf(
  cx: Decision,
  { backChannelLogoutUri, backChannelPrivate }: OidcConfig,
  isRequested: boolean | undefined,
): string {
  const origin = originOf(backChannelLogoutUri)
  const isAllowed = origin !== "" && origin === backChannelPrivate
  if (isAllowed) return isRequested === false ? "" : origin
  if (!isRequested || origin === "") return ""
  if (mayAllowPrivate(cx)) return origin
  throw new Fault(
    "permission_denied",
    "app.back_channel_private_denied",
    "back_channel_logout_private_network requires the permission iam.write on the instance",
  )
}

const originOf = (uri: string): string => URL.parse(uri)?.origin ?? ""

/** Whether the caller may allow, and learn, what lies in the network of this service. */
export const mayAllowPrivate = ({
  caller,
  holdsOnInstance,
}: Pick<Decision, "caller" | "holdsOnInstance">): boolean =>
  caller.kind === "system" || (holdsOnInstance?.("iam.write") ?? false)

/**
 * Whether sign-out notices may go to the registered address if it leads into a private network.
 * Administrators of one of several instances must not look around in the operator's network.
 */
export const isPrivateAllowed = (cx: Cx, config: OidcConfig): boolean =>
  Boolean(config.backChannelPrivate) &&
  config.backChannelPrivate === originOf(config.backChannelLogoutUri) &&
  mayLieInside(cx, config.backChannelLogoutUri)

/** Whether an address may be allowed at all; what leads back to this service may not. */
export const mayLieInside = (cx: Cx, uri: string): boolean =>
  isOnlyInstance(cx) && originOf(uri) !== originOf(requireInstance(cx).publicUrl)

const urisMax = 100
const clockSkewMax = 5

/** Refuses what no application may have, compliant or not. */
export function checkOidc(cx: Decision, config: OidcConfig): void {
  const { redirectUris, postLogoutRedirectUris, additionalOrigins, devMode } = config
  const count = redirectUris.length + postLogoutRedirectUris.length + additionalOrigins.length
  if (count > urisMax)
    throw refusedError("redirect_uris", `must not be more than ${urisMax} in all`)
  for (const uri of redirectUris) checkUri("redirect_uris", uri, devMode)
  for (const uri of postLogoutRedirectUris) checkUri("post_logout_redirect_uris", uri, devMode)
  for (const origin of config.additionalOrigins) checkOrigin(origin)
  checkBackChannel(config.backChannelLogoutUri)
  checkLogin(config.loginVersion)
  if (config.clockSkewSeconds < 0 || config.clockSkewSeconds > clockSkewMax) {
    throw refusedError("clock_skew", `must be 0 to ${clockSkewMax} seconds`)
  }
  if (config.frontChannelLogout) checkFrontChannel(config)
  if (config.tokens) checkTokens(cx, config.tokens)
  checkAccessRules(config.accessRules ?? [])
}

/** Refuses an address for sign-out notices that is nowhere on the web. */
export function checkBackChannel(uri: string): void {
  if (uri !== "") checkWeb("back_channel_logout_uri", uri)
}

/** Refuses a login of one's own that is nowhere on the web. */
export function checkLogin(login: LoginVersion): void {
  if (login.version === "v2" && login.baseUri !== "") checkWeb("login_version", login.baseUri)
}

/** An application can't be signed for with what no key signs with. */
function checkTokens(cx: Decision, tokens: TokenConfig): void {
  checkLifetimes(tokens)
  for (const algorithm of [tokens.idTokenAlgorithm, tokens.accessTokenAlgorithm]) {
    if (algorithm !== undefined && activeOf(cx, algorithm) === undefined)
      throw noKeyError(algorithm)
  }
}

/** OpenID Connect Front-Channel Logout §2: on the same host as one of the redirect URIs. */
function checkFrontChannel({ frontChannelLogout, redirectUris, devMode }: OidcConfig): void {
  const uri = frontChannelLogout?.uri ?? ""
  if (uri === "") return
  checkWeb("front_channel_logout", uri)
  const { origin } = new URL(uri)
  const isKnown = redirectUris.some((each) => new URL(each).origin === origin)
  if (isKnown || devMode) return
  throw refusedError("front_channel_logout", "must have the origin of one of the redirect URIs")
}

/** RFC 6749 §3.1.2: where people are sent back to. */
function checkUri(field: string, uri: string, devMode: boolean): void {
  const malformation = malformationOf(uri, devMode)
  if (malformation) throw refusedError(field, wellFormed[malformation])
}

const wellFormed = {
  relative: "must be absolute, such as https://app.example.com/callback",
  fragment: "must not have a fragment",
  unsafe_scheme: "must not have a scheme that a browser runs by itself",
  not_ascii: "must be ASCII: percent-encode other characters",
  wildcard: "may have wildcards in development mode only",
  wildcard_wide:
    "may have a wildcard in a label of the host or a segment of the path, once in each, " +
    "and not in the last two labels",
} as const

function checkOrigin(text: string): void {
  if (!URL.canParse(text) || new URL(text).origin !== text) {
    throw refusedError("additional_origins", "must be origins such as https://app.example.com")
  }
}

function checkWeb(field: string, uri: string): void {
  const url = URL.canParse(uri) ? new URL(uri) : undefined
  const isWeb = url?.protocol === "https:" || url?.protocol === "http:"
  if (!isWeb || url.hash || uri.length > uriLengthMax) {
    throw refusedError(field, "must begin with https:// or http://")
  }
}

/** The id names the field, so that a form can show the refusal there. */
const refusedError = (field: string, wanted: string) =>
  fieldError(`app.${field}_invalid`, field, wanted)

/**
 * Something that makes sign-in fail, or that OAuth or OpenID Connect advises against; `key` is
 * stable, `message` explains.
 */
export type ComplianceProblem = {
  readonly key: string
  readonly message: string
  /** Whether requests are refused because of it. */
  readonly refuses: boolean
}

type Rule = {
  readonly key: string
  readonly message: string
  readonly broken: (config: OidcConfig) => boolean
  /** Whether nobody can sign in because of it, where it is broken. */
  readonly refuses?: (config: OidcConfig) => boolean
}

const redirects = (config: OidcConfig) =>
  config.grantTypes.some((grant) => grant === "authorization_code" || grant === "implicit")

const isCustom = (uri: string) => !/^https?:\/\//i.test(uri)

const concerns: Readonly<Record<Concern, string>> = {
  custom_scheme: "Only native applications can receive a redirect to a scheme of their own.",
  http: "Redirect over plain HTTP only to this machine: anybody on the way reads the code.",
  http_private:
    "Redirects over plain HTTP into a private network need private_network_http to be on.",
  http_private_allowed:
    "Redirects over plain HTTP can be read by whoever is in the same private network.",
  http_loopback: "Only native applications should receive redirects over plain HTTP.",
}

const hasGrant = ({ grantTypes }: OidcConfig, type: ResponseType) =>
  grantTypes.includes(type === "code" ? "authorization_code" : "implicit")

const rules: readonly Rule[] = [
  {
    key: "redirect_uris.missing",
    message: "Signing in through a browser needs at least one redirect URI.",
    broken: (config) => redirects(config) && config.redirectUris.length === 0,
    refuses: () => true,
  },
  {
    key: "response_types.without_grant",
    message: "The response types need the authorization code or the implicit grant.",
    broken: (config) =>
      config.responseTypes.some(
        (type) => !hasGrant(config, type) && (type !== "code" || redirects(config)),
      ),
    refuses: (config) => !config.responseTypes.some((type) => hasGrant(config, type)),
  },
  {
    key: "grant_types.implicit",
    message: "The implicit flow shows tokens to the browser's history; use a code with PKCE.",
    broken: ({ grantTypes }) => grantTypes.includes("implicit"),
  },
  {
    key: "grant_types.refresh_without_code",
    message: "Refresh tokens need the authorization code or the device grant.",
    broken: ({ grantTypes }) =>
      grantTypes.includes("refresh_token") &&
      !grantTypes.some((grant) => grant === "authorization_code" || grant === "device_code"),
  },
  {
    key: "auth_method.public_client",
    message: "Applications on the user's device can't keep a secret; use none, with PKCE.",
    broken: ({ appType, authMethod }) => appType !== "web" && authMethod !== "none",
  },
  {
    key: "development_mode",
    message: "Development mode allows what an attacker could use; turn it off in production.",
    broken: ({ devMode }) => devMode,
  },
]

/** What is wrong with a configuration, as it is at an issuer; what refuses sign-ins comes first. */
export function complianceProblems(
  config: OidcConfig,
  issuer: string,
): readonly ComplianceProblem[] {
  const broken = rules.flatMap(({ key, message, broken: isBroken, refuses }) =>
    isBroken(config) ? [{ key, message, refuses: refuses?.(config) ?? false }] : [],
  )
  const found = [...redirectProblems(config, issuer), ...broken]
  return found.toSorted((a, b) => Number(b.refuses) - Number(a.refuses))
}

/** Each concern once, however many addresses it is about. */
function redirectProblems(config: OidcConfig, issuer: string): readonly ComplianceProblem[] {
  const problems = new Map<Concern, ComplianceProblem>()
  for (const uri of config.redirectUris) {
    const judgement = judge(uri, config, issuer)
    if (judgement.verdict !== "refused" && judgement.verdict !== "advised") continue
    const { why, verdict } = judgement
    const refuses = verdict === "refused" || problems.get(why)?.refuses === true
    problems.set(why, { key: `redirect_uris.${why}`, message: concerns[why], refuses })
  }
  return [...problems.values()]
}

/** Origins that a browser may call from: those of the redirect URIs and the additional ones. */
export const allowedOrigins = (config: OidcConfig): readonly string[] => [
  ...new Set([
    ...config.redirectUris.filter((uri) => !isCustom(uri)).map((uri) => new URL(uri).origin),
    ...config.additionalOrigins,
  ]),
]
