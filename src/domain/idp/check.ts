import { createPrivateKey } from "node:crypto"
import { Fault, fieldError } from "../../kernel/fault.ts"
import { parseListedDomain } from "../../protocol/domain.ts"
import { validateDirectory } from "./check-directory.ts"
import { invalidFieldError, validateShortText } from "./field.ts"
import type { IdpConfig, Options, Settings } from "./model.ts"

/** Rejects settings that no one could sign in with, and names what is expected. */
export function validateIdp({ name, settings, options }: IdpConfig): void {
  validateShortText("name", name)
  validateKindOptions(settings, options)
  if (settings.kind === "ldap") validateDirectory(settings)
  else validators[settings.kind](settings)
}

/** Rejects options that have no effect for a kind of provider. */
function validateKindOptions({ kind }: Settings, options: Options): void {
  for (const [name, field, kinds] of kindOptions) {
    if (options[name] && !kinds.includes(kind)) {
      const expected = `can be set only for providers of kind ${kinds.join(" or ")}`
      throw fieldError("idp.option_of_other_kind", `provider_options.${field}`, expected)
    }
  }
}

const kindOptions: readonly (readonly [keyof Options, string, readonly Settings["kind"][]])[] = [
  ["acceptMissingNonce", "accept_missing_nonce", ["oidc"]],
  ["acceptOtherAudiences", "accept_other_audiences", ["oidc"]],
  ["encryptAssertions", "encrypt_assertions", ["saml"]],
  ["trustDirectoryAddresses", "trust_directory_addresses", ["ldap"]],
]

/**
 * Validates options and returns them as they are stored. Rejects options that the owner can't set.
 */
export function parseOptions(orgId: string | undefined, options: Options): Options {
  requireAllowedForOwner(orgId, options)
  const { allowedDomains = [], ...rest } = options
  if (allowedDomains.length > domainsMax) {
    throw allowedDomainsError(`must have at most ${domainsMax} domains`)
  }
  const domains = [...new Set(allowedDomains.map(parseAllowedDomain))]
  return { ...rest, ...(domains.length > 0 && { allowedDomains: domains }) }
}

const domainsMax = 50

function parseAllowedDomain(text: string): string {
  const domain = parseListedDomain(text)
  if (domain !== undefined) return domain
  throw allowedDomainsError("must be domain names such as example.com, without @ or *")
}

const allowedDomainsError = (expected: string) =>
  fieldError("idp.allowed_domains_invalid", "provider_options.allowed_domains", expected)

/**
 * Rejects options that only an instance administrator can set; otherwise administrators of an
 * organization could weaken the requirements of other organizations' applications.
 */
function requireAllowedForOwner(orgId: string | undefined, options: Options): void {
  if (orgId === undefined) return
  if (options.isTrustedForAddresses) {
    throw fieldError(
      "idp.trust_of_org",
      "provider_options.is_trusted_for_addresses",
      "can be set only for providers of the instance",
    )
  }
  if (!options.acceptAsFresh) return
  throw new Fault(
    "permission_denied",
    "idp.accept_as_fresh_refused",
    "accept_as_fresh can be set only for identity providers of the instance, by an " +
      "instance administrator",
  )
}

/** Rejects a secret that can't be used; empty means no secret. */
export function validateSecret({ kind }: Settings, secret: string): void {
  if (kind === "ldap" && secret.length > 200) {
    throw invalidFieldError("bind_password", "must be at most 200 characters")
  }
  if (kind !== "apple" || secret === "" || isAppleKey(secret)) return
  throw invalidFieldError(
    "private_key",
    "must be the .p8 file from Apple, a PKCS #8 key in PEM format",
  )
}

/** A directory requires a password, because it does not list users to anonymous clients. */
export function requireSecret({ kind }: Settings, secret: string): void {
  if (kind === "ldap" && secret === "") {
    throw invalidFieldError("bind_password", "must be the password of bind_dn")
  }
}

/** Apple's keys use the curve P-256, which ES256 requires (RFC 7518 §3.4). */
function isAppleKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyDetails?.namedCurve === "prime256v1"
  } catch (cause) {
    if (cause instanceof Error) return false
    throw cause
  }
}

type WebSettings = Partial<
  Record<
    | "clientId"
    | "issuer"
    | "authorizationEndpoint"
    | "tokenEndpoint"
    | "userEndpoint"
    | "idAttribute"
    | "jwtEndpoint"
    | "keysEndpoint"
    | "headerName"
    | "tenant"
    | "metadataUrl"
    | "transientAttribute"
    | "teamId"
    | "keyId",
    string
  >
> & { readonly scopes?: readonly string[] }

function validateClient({ clientId = "", scopes = [] }: WebSettings): void {
  validateShortText("client_id", clientId)
  if (scopes.length > 20) throw invalidFieldError("scopes", "must have at most 20 entries")
  for (const scope of scopes) {
    // RFC 6749 §3.3
    if (!/^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/.test(scope)) {
      throw invalidFieldError("scopes", "must be OAuth scopes without spaces")
    }
  }
}

function validateEndpoints(webSettings: WebSettings): void {
  validateClient(webSettings)
  validateUrl("authorization_endpoint", webSettings.authorizationEndpoint)
  validateUrl("token_endpoint", webSettings.tokenEndpoint)
  validateUrl("user_endpoint", webSettings.userEndpoint)
}

function validateIssuerSettings(webSettings: WebSettings): void {
  validateClient(webSettings)
  validateIssuer(webSettings)
}

/** OpenID Connect Discovery §3: an issuer has no query and no fragment. */
function validateIssuer({ issuer: text = "" }: WebSettings): void {
  validateUrl("issuer", text)
  if (/[?#]/.test(text)) throw invalidFieldError("issuer", "must not contain ? or #")
}

type WebKind = Exclude<Settings["kind"], "ldap">

const validators: Readonly<Record<WebKind, (webSettings: WebSettings) => void>> = {
  oauth: (webSettings) => {
    validateEndpoints(webSettings)
    validateShortText("id_attribute", webSettings.idAttribute)
  },
  oidc: validateIssuerSettings,
  jwt: (webSettings) => {
    validateIssuer(webSettings)
    validateUrl("jwt_endpoint", webSettings.jwtEndpoint)
    validateUrl("keys_endpoint", webSettings.keysEndpoint)
    // RFC 9110 §5.1
    if (!/^[\w!#$%&'*+.^`|~-]{1,200}$/.test(webSettings.headerName ?? "")) {
      throw invalidFieldError("header_name", "must be a header name, such as X-User-Token")
    }
  },
  azure: (webSettings) => {
    validateClient(webSettings)
    // The tenant becomes part of URLs.
    if (!/^[\w.-]{1,200}$/.test(webSettings.tenant ?? "")) {
      throw invalidFieldError("tenant", "must be a directory ID or one of its domains")
    }
  },
  github: validateClient,
  gitlab: validateClient,
  google: validateClient,
  github_enterprise: validateEndpoints,
  gitlab_self_hosted: validateIssuerSettings,
  saml: ({ metadataUrl = "", transientAttribute = "" }) => {
    if (metadataUrl !== "") validateUrl("metadata_url", metadataUrl)
    if (transientAttribute !== "")
      validateShortText("transient_mapping_attribute_name", transientAttribute)
  },
  apple: (webSettings) => {
    validateClient(webSettings)
    validateTenCharacters("team_id", webSettings.teamId)
    validateTenCharacters("key_id", webSettings.keyId)
  },
}

function validateTenCharacters(field: string, text = ""): void {
  if (/^\w{10}$/.test(text)) return
  throw invalidFieldError(field, "must be the ten letters and digits that Apple shows")
}

/** Users and secrets are sent to this URL, so it must use HTTPS unless it is on this host. */
function validateUrl(field: string, text = ""): void {
  const url = URL.parse(text)
  const isLocal = url !== null && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)
  const isOpen = url?.protocol === "https:" || (url?.protocol === "http:" && isLocal)
  if (isOpen && text.length <= 2048 && text === text.trim() && !url?.username && !url?.password) {
    return
  }
  throw invalidFieldError(field, "must be a URL that begins with https://, without a password")
}
