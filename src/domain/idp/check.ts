import { createPrivateKey } from "node:crypto"
import { Fault, fieldError } from "../../kernel/fault.ts"
import { listedDomainOf } from "../../protocol/domain.ts"
import { checkDirectory } from "./check-directory.ts"
import { refusedError, shortText } from "./field.ts"
import type { Options, Said, Settings } from "./model.ts"

/** Refuses what nobody could sign in with, each with what is wanted instead. */
export function checkIdp({ name, settings, options }: Said): void {
  shortText("name", name)
  checkKind(settings, options)
  if (settings.kind === "ldap") checkDirectory(settings)
  else checks[settings.kind](settings)
}

/** Rejects options that have no effect for a kind of provider, so that nobody relies on them. */
function checkKind({ kind }: Settings, options: Options): void {
  for (const [name, field, kinds] of kindOptions) {
    if (options[name] && !kinds.includes(kind)) {
      const expected = `can only be set for a provider of kind ${kinds.join(" or ")}`
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

/** The options as they are stored; rejects those that can't be set at this place. */
export function acceptedOptions(orgId: string | undefined, options: Options): Options {
  checkPlace(orgId, options)
  const { allowedDomains = [], ...rest } = options
  if (allowedDomains.length > domainsMax) {
    throw domainsError(`must be at most ${domainsMax} domains`)
  }
  const domains = [...new Set(allowedDomains.map(allowedDomainOf))]
  return { ...rest, ...(domains.length > 0 && { allowedDomains: domains }) }
}

const domainsMax = 50

function allowedDomainOf(text: string): string {
  const domain = listedDomainOf(text)
  if (domain !== undefined) return domain
  throw domainsError("must be names of domains such as example.com, without @ or *")
}

const domainsError = (expected: string) =>
  fieldError("idp.allowed_domains_invalid", "provider_options.allowed_domains", expected)

/**
 * Refuses what only the instance can decide: whoever administers an organization would else lower
 * what applications of others require.
 */
function checkPlace(orgId: string | undefined, options: Options): void {
  if (orgId === undefined) return
  if (options.isTrustedForAddresses) {
    throw fieldError(
      "idp.trust_of_org",
      "provider_options.is_trusted_for_addresses",
      "can only be set for a provider of the instance",
    )
  }
  if (!options.acceptAsFresh) return
  throw new Fault(
    "permission_denied",
    "idp.accept_as_fresh_refused",
    "accept_as_fresh can be set only for identity providers of the instance, by an administrator " +
      "of the instance",
  )
}

/** Refuses a secret that could not be used; empty where there is none. */
export function checkSecret({ kind }: Settings, secret: string): void {
  if (kind === "ldap" && secret.length > 200) {
    throw refusedError("bind_password", "may have 200 characters at most")
  }
  if (kind !== "apple" || secret === "" || isAppleKey(secret)) return
  throw refusedError("private_key", "must be the .p8 file that Apple gave you, a PEM of PKCS #8")
}

/** A directory is asked as somebody: it would tell nobody else who its people are. */
export function mustHaveSecret({ kind }: Settings, secret: string): void {
  if (kind === "ldap" && secret === "") {
    throw refusedError("bind_password", "must be the password of bind_dn")
  }
}

/** Apple's keys are on the curve P-256, which is what ES256 signs with (RFC 7518 §3.4). */
function isAppleKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyDetails?.namedCurve === "prime256v1"
  } catch (cause) {
    if (cause instanceof Error) return false
    throw cause
  }
}

type Given = Partial<
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

function client({ clientId = "", scopes = [] }: Given): void {
  shortText("client_id", clientId)
  if (scopes.length > 20) throw refusedError("scopes", "may be 20 at most")
  for (const scope of scopes) {
    // RFC 6749 §3.3
    if (!/^[\x21\x23-\x5b\x5d-\x7e]{1,100}$/.test(scope)) {
      throw refusedError("scopes", "must be OAuth scopes, each without spaces")
    }
  }
}

function endpoints(given: Given): void {
  client(given)
  webAddress("authorization_endpoint", given.authorizationEndpoint)
  webAddress("token_endpoint", given.tokenEndpoint)
  webAddress("user_endpoint", given.userEndpoint)
}

function issued(given: Given): void {
  client(given)
  issuer(given)
}

/** OpenID Connect Discovery §3: an issuer has no query and no fragment. */
function issuer({ issuer: text = "" }: Given): void {
  webAddress("issuer", text)
  if (/[?#]/.test(text)) throw refusedError("issuer", "must have neither ? nor #")
}

type Web = Exclude<Settings["kind"], "ldap">

const checks: Readonly<Record<Web, (given: Given) => void>> = {
  oauth: (given) => {
    endpoints(given)
    shortText("id_attribute", given.idAttribute)
  },
  oidc: issued,
  jwt: (given) => {
    issuer(given)
    webAddress("jwt_endpoint", given.jwtEndpoint)
    webAddress("keys_endpoint", given.keysEndpoint)
    // RFC 9110 §5.1
    if (!/^[\w!#$%&'*+.^`|~-]{1,200}$/.test(given.headerName ?? "")) {
      throw refusedError("header_name", "must be the name of a header, such as X-User-Token")
    }
  },
  azure: (given) => {
    client(given)
    // It becomes a part of addresses.
    if (!/^[\w.-]{1,200}$/.test(given.tenant ?? "")) {
      throw refusedError("tenant", "must be the id of a directory, or one of its domains")
    }
  },
  github: client,
  gitlab: client,
  google: client,
  github_enterprise: endpoints,
  gitlab_self_hosted: issued,
  saml: ({ metadataUrl = "", transientAttribute = "" }) => {
    if (metadataUrl !== "") webAddress("metadata_url", metadataUrl)
    if (transientAttribute !== "") shortText("transient_mapping_attribute_name", transientAttribute)
  },
  apple: (given) => {
    client(given)
    tenLetters("team_id", given.teamId)
    tenLetters("key_id", given.keyId)
  },
}

function tenLetters(field: string, text = ""): void {
  if (/^\w{10}$/.test(text)) return
  throw refusedError(field, "must have the ten letters and digits that Apple shows")
}

/** What people and secrets are sent to is encrypted, unless it never leaves the machine. */
function webAddress(field: string, text = ""): void {
  const url = URL.parse(text)
  const isLocal = url !== null && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)
  const isOpen = url?.protocol === "https:" || (url?.protocol === "http:" && isLocal)
  if (isOpen && text.length <= 2048 && text === text.trim() && !url?.username && !url?.password) {
    return
  }
  throw refusedError(field, "must be an address that begins with https://, without a password")
}
