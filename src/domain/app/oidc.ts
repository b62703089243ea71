import { Fault, fieldError } from "../../kernel/fault.ts"
import {
  assessRedirectUri,
  findRedirectUriError,
  maxUriLength,
  type RedirectUriConcern,
} from "../../protocol/redirect-uri.ts"
import type { Cx, DecisionContext } from "../../store/index.ts"
import {
  isOnlyInstance,
  noKeyError,
  requireInstance,
  validateLifetimes,
} from "../instance/index.ts"
import { findActiveKeyId } from "../key/index.ts"
import { validateAccessRules } from "./forward-auth.ts"
import type { LoginVersion, OidcConfig, ResponseType, TokenConfig } from "./model.ts"

/** The configuration of an application that specifies nothing. */
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

/**
 * A requested configuration. The private network permission, which only an instance administrator
 * can grant, is a flag.
 */
export type OidcInput = Omit<Partial<OidcConfig>, "backChannelPrivate"> & {
  /** Whether logout notifications can be sent to an address in a private network. */
  readonly isBackChannelPrivate?: boolean
}

/**
 * The origin in a private network that logout notifications can be sent to; empty for none. The
 * permission applies only to this origin. Rejects a new one from callers without `iam.write`.
 */
export function privateOriginOf(
  cx: DecisionContext,
  { backChannelLogoutUri, backChannelPrivate }: OidcConfig,
  isRequested: boolean | undefined,
): string {
  const origin = originOf(backChannelLogoutUri)
  const isAllowed = origin !== "" && origin === backChannelPrivate
  if (isAllowed) return isRequested === false ? "" : origin
  if (!isRequested || origin === "") return ""
  if (canAllowPrivateNetwork(cx)) return origin
  throw new Fault(
    "permission_denied",
    "app.back_channel_private_denied",
    "back_channel_logout_private_network requires the permission iam.write on the instance",
  )
}

const originOf = (uri: string): string => URL.parse(uri)?.origin ?? ""

/**
 * Whether the caller can allow addresses in the private network of this service and read their
 * status.
 */
export const canAllowPrivateNetwork = ({
  caller,
  holdsOnInstance,
}: Pick<DecisionContext, "caller" | "holdsOnInstance">): boolean =>
  caller.kind === "system" || (holdsOnInstance?.("iam.write") ?? false)

/**
 * Whether logout notifications can be sent to the registered URL if it resolves to a private
 * network. With several instances they can't: administrators of one must not probe the operator's
 * network.
 */
export const isPrivateNetworkAllowed = (cx: Cx, config: OidcConfig): boolean =>
  Boolean(config.backChannelPrivate) &&
  config.backChannelPrivate === originOf(config.backChannelLogoutUri) &&
  canBePrivate(cx, config.backChannelLogoutUri)

/**
 * Whether an address in a private network can be allowed at all; addresses of this service itself
 * can't.
 */
export const canBePrivate = (cx: Cx, uri: string): boolean =>
  isOnlyInstance(cx) && originOf(uri) !== originOf(requireInstance(cx).publicUrl)

const urisMax = 100
const clockSkewMax = 5

/** Rejects settings that no application can have, compliant or not. */
export function validateOidcConfig(cx: DecisionContext, config: OidcConfig): void {
  const { redirectUris, postLogoutRedirectUris, additionalOrigins, devMode } = config
  const count = redirectUris.length + postLogoutRedirectUris.length + additionalOrigins.length
  if (count > urisMax)
    throw invalidFieldError("redirect_uris", `must not contain more than ${urisMax} URIs in total`)
  for (const uri of redirectUris) validateRedirectUri("redirect_uris", uri, devMode)
  for (const uri of postLogoutRedirectUris)
    validateRedirectUri("post_logout_redirect_uris", uri, devMode)
  for (const origin of config.additionalOrigins) validateOrigin(origin)
  validateBackChannelUri(config.backChannelLogoutUri)
  validateLoginVersion(config.loginVersion)
  if (config.clockSkewSeconds < 0 || config.clockSkewSeconds > clockSkewMax) {
    throw invalidFieldError("clock_skew", `must be 0 to ${clockSkewMax} seconds`)
  }
  if (config.frontChannelLogout) validateFrontChannelLogout(config)
  if (config.tokens) validateTokenConfig(cx, config.tokens)
  validateAccessRules(config.accessRules ?? [])
}

/** Rejects a back-channel logout URI that is not an HTTP(S) URL. */
export function validateBackChannelUri(uri: string): void {
  if (uri !== "") validateHttpUrl("back_channel_logout_uri", uri)
}

/** Rejects a base URI of a custom login that is not an HTTP(S) URL. */
export function validateLoginVersion(login: LoginVersion): void {
  if (login.version === "v2" && login.baseUri !== "")
    validateHttpUrl("login_version", login.baseUri)
}

/** Rejects signing algorithms without an active key. */
function validateTokenConfig(cx: DecisionContext, tokens: TokenConfig): void {
  validateLifetimes(tokens)
  for (const algorithm of [tokens.idTokenAlgorithm, tokens.accessTokenAlgorithm]) {
    if (algorithm !== undefined && findActiveKeyId(cx, algorithm) === undefined)
      throw noKeyError(algorithm)
  }
}

/**
 * OpenID Connect Front-Channel Logout §2: the URI must have the origin of one of the redirect URIs.
 */
function validateFrontChannelLogout({
  frontChannelLogout,
  redirectUris,
  devMode,
}: OidcConfig): void {
  const uri = frontChannelLogout?.uri ?? ""
  if (uri === "") return
  validateHttpUrl("front_channel_logout", uri)
  const { origin } = new URL(uri)
  const isRegistered = redirectUris.some((each) => new URL(each).origin === origin)
  if (isRegistered || devMode) return
  throw invalidFieldError(
    "front_channel_logout",
    "must have the origin of one of the redirect URIs",
  )
}

/** RFC 6749 §3.1.2: validates a redirect URI. */
function validateRedirectUri(field: string, uri: string, devMode: boolean): void {
  const malformation = findRedirectUriError(uri, devMode)
  if (malformation) throw invalidFieldError(field, uriRequirements[malformation])
}

const uriRequirements = {
  relative: "must be absolute, such as https://app.example.com/callback",
  fragment: "must not have a fragment",
  unsafe_scheme: "must not have a scheme that browsers execute, such as javascript:",
  not_ascii: "must be ASCII; percent-encode other characters",
  wildcard: "can have wildcards in development mode only",
  wildcard_wide:
    "can have one wildcard in each host label and path segment, but not in the last two " +
    "labels of the host",
} as const

function validateOrigin(text: string): void {
  if (!URL.canParse(text) || new URL(text).origin !== text) {
    throw invalidFieldError("additional_origins", "must be origins such as https://app.example.com")
  }
}

function validateHttpUrl(field: string, uri: string): void {
  const url = URL.canParse(uri) ? new URL(uri) : undefined
  const isWeb = url?.protocol === "https:" || url?.protocol === "http:"
  if (!isWeb || url.hash || uri.length > maxUriLength) {
    throw invalidFieldError(field, "must begin with https:// or http://")
  }
}

/** The error ID contains the field, so that a form can show the message beside it. */
const invalidFieldError = (field: string, requirement: string) =>
  fieldError(`app.${field}_invalid`, field, requirement)

/**
 * A setting that makes sign-in fail, or that OAuth or OpenID Connect advises against. `key` is
 * stable; `message` explains the problem.
 */
export type ComplianceProblem = {
  readonly key: string
  readonly message: string
  /** Whether authorization requests are rejected because of it. */
  readonly blocksSignIn: boolean
}

type ComplianceRule = {
  readonly key: string
  readonly message: string
  readonly isViolated: (config: OidcConfig) => boolean
  /** Whether a violation prevents all sign-ins. */
  readonly blocksSignIn?: (config: OidcConfig) => boolean
}

const usesRedirects = (config: OidcConfig) =>
  config.grantTypes.some((grant) => grant === "authorization_code" || grant === "implicit")

const hasCustomScheme = (uri: string) => !/^https?:\/\//i.test(uri)

const redirectMessages: Readonly<Record<RedirectUriConcern, string>> = {
  custom_scheme: "Only native applications can use redirect URIs with a custom scheme.",
  http:
    "Use plain HTTP only for redirects to this machine: on the network, anyone can read " +
    "the code.",
  http_private: "Redirects over plain HTTP to a private network require private_network_http.",
  http_private_allowed: "Anyone in the same private network can read redirects over plain HTTP.",
  http_loopback: "Only native applications should receive redirects over plain HTTP.",
}

const hasGrant = ({ grantTypes }: OidcConfig, type: ResponseType) =>
  grantTypes.includes(type === "code" ? "authorization_code" : "implicit")

const complianceRules: readonly ComplianceRule[] = [
  {
    key: "redirect_uris.missing",
    message: "Sign-in through a browser requires at least one redirect URI.",
    isViolated: (config) => usesRedirects(config) && config.redirectUris.length === 0,
    blocksSignIn: () => true,
  },
  {
    key: "response_types.without_grant",
    message: "The response types require the authorization code or the implicit grant.",
    isViolated: (config) =>
      config.responseTypes.some(
        (type) => !hasGrant(config, type) && (type !== "code" || usesRedirects(config)),
      ),
    blocksSignIn: (config) => !config.responseTypes.some((type) => hasGrant(config, type)),
  },
  {
    key: "grant_types.implicit",
    message:
      "The implicit flow exposes tokens in the browser history; use the authorization code " +
      "flow with PKCE.",
    isViolated: ({ grantTypes }) => grantTypes.includes("implicit"),
  },
  {
    key: "grant_types.refresh_without_code",
    message: "Refresh tokens require the authorization code or the device code grant.",
    isViolated: ({ grantTypes }) =>
      grantTypes.includes("refresh_token") &&
      !grantTypes.some((grant) => grant === "authorization_code" || grant === "device_code"),
  },
  {
    key: "auth_method.public_client",
    message:
      "Applications on the user's device can't keep a secret; use no authentication, with PKCE.",
    isViolated: ({ appType, authMethod }) => appType !== "web" && authMethod !== "none",
  },
  {
    key: "development_mode",
    message: "Development mode allows insecure settings; turn it off in production.",
    isViolated: ({ devMode }) => devMode,
  },
]

/** The problems of a configuration at this issuer; those that block sign-in come first. */
export function complianceProblems(
  config: OidcConfig,
  issuer: string,
): readonly ComplianceProblem[] {
  const broken = complianceRules.flatMap(({ key, message, isViolated: isBroken, blocksSignIn }) =>
    isBroken(config) ? [{ key, message, blocksSignIn: blocksSignIn?.(config) ?? false }] : [],
  )
  const found = [...redirectProblems(config, issuer), ...broken]
  return found.toSorted((a, b) => Number(b.blocksSignIn) - Number(a.blocksSignIn))
}

/** Each problem once, even if several URIs have it. */
function redirectProblems(config: OidcConfig, issuer: string): readonly ComplianceProblem[] {
  const problems = new Map<RedirectUriConcern, ComplianceProblem>()
  for (const uri of config.redirectUris) {
    const judgement = assessRedirectUri(uri, config, issuer)
    if (judgement.verdict !== "refused" && judgement.verdict !== "advised") continue
    const { reason, verdict } = judgement
    const blocksSignIn = verdict === "refused" || problems.get(reason)?.blocksSignIn === true
    problems.set(reason, {
      key: `redirect_uris.${reason}`,
      message: redirectMessages[reason],
      blocksSignIn,
    })
  }
  return [...problems.values()]
}

/**
 * Origins that browsers can send requests from: those of the redirect URIs, and the additional
 * origins.
 */
export const allowedOrigins = (config: OidcConfig): readonly string[] => [
  ...new Set([
    ...config.redirectUris.filter((uri) => !hasCustomScheme(uri)).map((uri) => new URL(uri).origin),
    ...config.additionalOrigins,
  ]),
]
