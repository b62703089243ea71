import {
  entityIdOf,
  isForSigning,
  isWebUrl,
  keysOf,
  type LogoutService,
  logoutServicesOf,
  type MetadataReading,
  parseEntity,
  requireNotExpired,
  rolesOf,
  validUntilOf,
} from "../../../xml/metadata.ts"
import { type Binding, bindingOf } from "../../../xml/names.ts"
import { childrenOf, type Element, findAttribute, isTrue } from "../../../xml/read.ts"
import { invalidFieldError } from "../field.ts"

/** A SingleSignOnService endpoint. */
export type SignOnService = { readonly url: string; readonly binding: Binding }

/** The parts of a provider's metadata that are used. */
export type SamlProvider = {
  readonly entityId: string
  readonly signOn: readonly SignOnService[]
  readonly logout: readonly LogoutService[]
  /** Keys in PEM that signatures are checked with; no others are accepted. */
  readonly signingKeys: readonly string[]
  readonly wantsSigned: boolean
  /** Expiration of the metadata, ms UTC; undefined if not stated. */
  readonly validUntil: number | undefined
}

/** Larger limits than for applications, because some providers list every claim they support. */
const bounds: MetadataReading["bounds"] = [
  ["<", 6000, "tags"],
  ["=", 5000, "attributes"],
  ["xmlns", 1000, "namespaces"],
  ["&", 10_000, "references"],
  ["-", 10_000, "hyphens"],
  ["\r", 20_000, "carriage returns"],
]

/** Parse options; errors name the request field. */
export const metadataReading: MetadataReading = {
  bounds,
  refusedError: (message) => invalidFieldError("metadata_xml", `can't be used: ${message}`),
}

/** Parses the metadata of one identity provider strictly. */
export async function parseProvider(metadata: string): Promise<SamlProvider> {
  const { entity, roles } = await parseRoles(metadata)
  const below = (name: string) => roles.flatMap((each) => childrenOf(each, "md", name))
  return {
    entityId: entityIdOf(entity, metadataReading),
    signOn: below("SingleSignOnService").flatMap(signOnServicesOf),
    logout: below("SingleLogoutService").flatMap(logoutServicesOf),
    signingKeys: below("KeyDescriptor").filter(isForSigning).flatMap(keysOf),
    wantsSigned: roles.some((each) => isTrue(findAttribute(each, "WantAuthnRequestsSigned"))),
    validUntil: validUntilOf([entity, ...roles]),
  }
}

/**
 * Parses the metadata of a provider that is being configured. Rejects metadata that no one could
 * sign in with.
 */
export async function parseUsableProvider(metadata: string, now: number): Promise<SamlProvider> {
  const { entity, roles } = await parseRoles(metadata)
  requireNotExpired([entity, ...roles], now, metadataReading)
  const provider = await parseProvider(metadata)
  const { refusedError: unusable } = metadataReading
  if (provider.signOn.length === 0) {
    throw unusable("the metadata must have a SingleSignOnService for HTTP-Redirect or HTTP-POST")
  }
  if (provider.signingKeys.length === 0) {
    throw unusable(
      "the metadata must have a signing certificate with an RSA key of at least 2048 bits",
    )
  }
  return provider
}

async function parseRoles(metadata: string) {
  const entity = await parseEntity(metadata, metadataReading)
  const roles = rolesOf(entity, "IDPSSODescriptor")
  if (roles.length > 0) return { entity, roles }
  throw metadataReading.refusedError("the metadata must have an IDPSSODescriptor for SAML 2.0")
}

function signOnServicesOf(each: Element): readonly SignOnService[] {
  const binding = bindingOf(findAttribute(each, "Binding"))
  const url = findAttribute(each, "Location") ?? ""
  return binding && isWebUrl(url) ? [{ url, binding }] : []
}
