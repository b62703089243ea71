import {
  entityIdOf,
  entityOf,
  isForSigning,
  isWebAddress,
  keysOf,
  type LogoutService,
  logoutServicesOf,
  type MetadataReading,
  mustBeValid,
  rolesOf,
  validUntilOf,
} from "../../../xml/metadata.ts"
import { type Binding, bindingOf } from "../../../xml/names.ts"
import { attributeOf, childrenOf, type Element, isTrue } from "../../../xml/read.ts"
import { refusedError } from "../field.ts"

/** Where a provider takes requests to sign somebody in. */
export type SignOn = { readonly url: string; readonly binding: Binding }

/** What the metadata of a provider say, as far as anybody goes by it. */
export type SamlProvider = {
  readonly entityId: string
  readonly signOn: readonly SignOn[]
  readonly logout: readonly LogoutService[]
  /** Keys that what it says is checked with, in PEM; no other counts. */
  readonly signingKeys: readonly string[]
  readonly wantsSigned: boolean
  /** When the metadata end, ms UTC; undefined where they say nothing. */
  readonly validUntil: number | undefined
}

/** Larger than those of applications: some list every claim that they know. */
const bounds: MetadataReading["bounds"] = [
  ["<", 6000, "tags"],
  ["=", 5000, "attributes"],
  ["xmlns", 1000, "namespaces"],
  ["&", 10_000, "references"],
  ["-", 10_000, "hyphens"],
  ["\r", 20_000, "carriage returns"],
]

/** How they are read; what refuses them names the field that brought them. */
export const metadataReading: MetadataReading = {
  bounds,
  refusedError: (message) => refusedError("metadata_xml", `can't be used: ${message}`),
}

/** Reads metadata of one identity provider, strictly. */
export async function providerOf(metadata: string): Promise<SamlProvider> {
  const { entity, roles } = await rolesIn(metadata)
  const below = (name: string) => roles.flatMap((each) => childrenOf(each, "md", name))
  return {
    entityId: entityIdOf(entity, metadataReading),
    signOn: below("SingleSignOnService").flatMap(signOnOf),
    logout: below("SingleLogoutService").flatMap(logoutServicesOf),
    signingKeys: below("KeyDescriptor").filter(isForSigning).flatMap(keysOf),
    wantsSigned: roles.some((each) => isTrue(attributeOf(each, "WantAuthnRequestsSigned"))),
    validUntil: validUntilOf([entity, ...roles]),
  }
}

/** Reads the same as somebody sets it up: refuses what nobody could sign in with. */
export async function usableProviderOf(metadata: string, now: number): Promise<SamlProvider> {
  const { entity, roles } = await rolesIn(metadata)
  mustBeValid([entity, ...roles], now, metadataReading)
  const provider = await providerOf(metadata)
  const { refusedError: unusable } = metadataReading
  if (provider.signOn.length === 0) {
    throw unusable("the metadata must have a SingleSignOnService for HTTP-Redirect or HTTP-POST")
  }
  if (provider.signingKeys.length === 0) {
    throw unusable(
      "the metadata must have a certificate for signing, with an RSA key from 2048 bits",
    )
  }
  return provider
}

async function rolesIn(metadata: string) {
  const entity = await entityOf(metadata, metadataReading)
  const roles = rolesOf(entity, "IDPSSODescriptor")
  if (roles.length > 0) return { entity, roles }
  throw metadataReading.refusedError(
    "the metadata must have an IDPSSODescriptor that speaks SAML 2.0",
  )
}

function signOnOf(each: Element): readonly SignOn[] {
  const binding = bindingOf(attributeOf(each, "Binding"))
  const url = attributeOf(each, "Location") ?? ""
  return binding && isWebAddress(url) ? [{ url, binding }] : []
}
