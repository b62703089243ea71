import { Fault } from "../../kernel/fault.ts"
import type { Decision } from "../../store/index.ts"
import { checkLifetimes, noKey } from "../instance/index.ts"
import { activeOf } from "../key/index.ts"
import type { LoginVersion, OidcConfig, TokenConfig } from "./model.ts"
import { isNarrow } from "./wildcard.ts"

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
  additionalOrigins: [],
  skipNativeAppSuccessPage: false,
  backChannelLogoutUri: "",
  loginVersion: { version: "unspecified" },
}

const urisMax = 100
const uriLengthMax = 2048
const clockSkewMax = 5

/** Schemes that a browser would run or show instead of opening an application. */
const unsafeSchemes = new Set(["javascript:", "data:", "vbscript:", "blob:", "file:", "about:"])

/** Refuses what no application may have, compliant or not. */
export function checkOidc(cx: Decision, config: OidcConfig): void {
  const { redirectUris, postLogoutRedirectUris, additionalOrigins, devMode } = config
  const count = redirectUris.length + postLogoutRedirectUris.length + additionalOrigins.length
  if (count > urisMax) throw refused("redirect_uris", `must not be more than ${urisMax} in all`)
  for (const uri of redirectUris) checkUri("redirect_uris", uri, devMode)
  for (const uri of postLogoutRedirectUris) checkUri("post_logout_redirect_uris", uri, devMode)
  for (const origin of config.additionalOrigins) checkOrigin(origin)
  if (config.backChannelLogoutUri !== "") checkWeb(config.backChannelLogoutUri)
  checkLogin(config.loginVersion)
  if (config.clockSkewSeconds < 0 || config.clockSkewSeconds > clockSkewMax) {
    throw refused("clock_skew", `must be 0 to ${clockSkewMax} seconds`)
  }
  if (config.frontChannelLogout) checkFrontChannel(config)
  if (config.tokens) checkTokens(cx, config.tokens)
}

/** Refuses a login of one's own that is nowhere on the web. */
export function checkLogin(login: LoginVersion): void {
  if (login.version === "v2" && login.baseUri !== "") checkWeb(login.baseUri)
}

/** An application can't be signed for with what no key signs with. */
function checkTokens(cx: Decision, tokens: TokenConfig): void {
  checkLifetimes(tokens)
  for (const algorithm of [tokens.idTokenAlgorithm, tokens.accessTokenAlgorithm]) {
    if (algorithm !== undefined && activeOf(cx, algorithm) === undefined) throw noKey(algorithm)
  }
}

/** OpenID Connect Front-Channel Logout §2: on the same host as one of the redirect URIs. */
function checkFrontChannel({ frontChannelLogout, redirectUris, devMode }: OidcConfig): void {
  const uri = frontChannelLogout?.uri ?? ""
  if (uri === "") return
  checkWeb(uri)
  const { origin } = new URL(uri)
  const isKnown = redirectUris.some((each) => new URL(each).origin === origin)
  if (isKnown || devMode) return
  throw refused("front_channel_logout.uri", "must have the origin of one of the redirect URIs")
}

/** RFC 6749 §3.1.2: an absolute URI without a fragment. */
function checkUri(field: string, uri: string, devMode: boolean): void {
  if (uri.length > uriLengthMax || !URL.canParse(uri) || /[\s\p{Cc}]/u.test(uri)) {
    throw refused(field, `must be absolute, such as https://app.example.com/callback`)
  }
  if (uri.includes("#")) throw refused(field, "must not have a fragment")
  if (unsafeSchemes.has(new URL(uri).protocol)) {
    throw refused(field, "must not have a scheme that a browser runs by itself")
  }
  // RFC 3986 §2: an address is ASCII; what browsers make of other characters is not compared.
  if (!/^[\x21-\x7e]+$/.test(uri)) {
    throw refused(field, "must be ASCII: percent-encode other characters")
  }
  if (!uri.includes("*")) return
  if (!devMode) throw refused(field, "may have wildcards in development mode only")
  if (!isNarrow(uri)) {
    const wanted = "a wildcard stands in a label of the host or a segment of the path"
    throw refused(field, `${wanted}, once in each, and not in the last two labels`)
  }
}

function checkOrigin(text: string): void {
  if (!URL.canParse(text) || new URL(text).origin !== text) {
    throw refused("additional_origins", "must be origins such as https://app.example.com")
  }
}

function checkWeb(uri: string): void {
  const url = URL.canParse(uri) ? new URL(uri) : undefined
  const isWeb = url?.protocol === "https:" || url?.protocol === "http:"
  if (!isWeb || url.hash || uri.length > uriLengthMax) {
    throw refused("the logout and login addresses", "must begin with https:// or http://")
  }
}

const refused = (field: string, wanted: string) =>
  new Fault("invalid_argument", "app.field_invalid", `${field} ${wanted}`)

/** Something that OAuth or OpenID Connect advises against; `key` is stable, `message` explains. */
export type ComplianceProblem = { readonly key: string; readonly message: string }

type Rule = ComplianceProblem & { readonly broken: (config: OidcConfig) => boolean }

const redirects = (config: OidcConfig) =>
  config.grantTypes.some((grant) => grant === "authorization_code" || grant === "implicit")

const isHttp = (uri: string) => /^http:/i.test(uri)
const isCustom = (uri: string) => !/^https?:\/\//i.test(uri)

/** RFC 8252 §7.3 and §8.3: the loopback interface, by address or by its usual name. */
const isLoopback = (uri: string) =>
  isHttp(uri) && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(uri).hostname)

const rules: readonly Rule[] = [
  {
    key: "redirect_uris.missing",
    message: "Signing in through a browser needs at least one redirect URI.",
    broken: (config) => redirects(config) && config.redirectUris.length === 0,
  },
  {
    key: "redirect_uris.custom_scheme",
    message: "Only native applications can receive a redirect to a scheme of their own.",
    broken: ({ appType, redirectUris }) => appType !== "native" && redirectUris.some(isCustom),
  },
  {
    key: "redirect_uris.http",
    message: "Redirect over plain HTTP only to this machine: anybody on the way reads the code.",
    broken: ({ redirectUris }) => redirectUris.some((uri) => isHttp(uri) && !isLoopback(uri)),
  },
  {
    key: "redirect_uris.http_loopback",
    message: "Only native applications should receive redirects over plain HTTP.",
    broken: ({ appType, devMode, redirectUris }) =>
      appType !== "native" && !devMode && redirectUris.some(isLoopback),
  },
  {
    key: "response_types.without_grant",
    message: "The response types need the authorization code or the implicit grant.",
    broken: (config) =>
      (config.responseTypes.includes("code") && redirects(config)
        ? !config.grantTypes.includes("authorization_code")
        : false) ||
      (config.responseTypes.some((type) => type !== "code") &&
        !config.grantTypes.includes("implicit")),
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

/** What is wrong with a configuration that works nevertheless. */
export const complianceProblems = (config: OidcConfig): readonly ComplianceProblem[] =>
  rules.flatMap(({ key, message, broken }) => (broken(config) ? [{ key, message }] : []))

/** Origins that a browser may call from: those of the redirect URIs and the additional ones. */
export const allowedOrigins = (config: OidcConfig): readonly string[] => [
  ...new Set([
    ...config.redirectUris.filter((uri) => !isCustom(uri)).map((uri) => new URL(uri).origin),
    ...config.additionalOrigins,
  ]),
]
