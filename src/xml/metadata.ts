import type { Outbound } from "../kernel/port/outbound.ts"
import { type XmlReading, xmlRootOf, xmlTextOf } from "./document.ts"
import type { Recipient } from "./encrypt.ts"
import { type Binding, bindingOf, namespaces } from "./names.ts"
import { allOf, attributeOf, childrenOf, type Element, timeOf } from "./read.ts"
import { curveKeyOfCertificate, keyOfCertificate } from "./verify.ts"

/** Bytes of one document. */
export const metadataMax = 500_000

const addressMax = 2048
/** SAML Metadata §2.2.1. */
const entityIdMax = 1024

/** How metadata of somebody else are read: what refuses them, and what they may have. */
export type MetadataReading = Pick<XmlReading, "refusedError" | "bounds">

/** Within these the parser takes some milliseconds, whatever somebody thinks up. */
export const modestBounds: XmlReading["bounds"] = [
  ["<", 3000, "tags"],
  ["=", 1000, "attributes"],
  ["xmlns", 200, "namespaces"],
  ["&", 10_000, "references"],
  ["-", 10_000, "hyphens"],
  ["\r", 20_000, "carriage returns"],
]

const readingOf = (reading: MetadataReading): XmlReading => ({
  name: "the metadata",
  bytesMax: metadataMax,
  ...reading,
})

/** Metadata as text, within its bounds. */
export const metadataText = (xml: Uint8Array, reading: MetadataReading): string =>
  xmlTextOf(xml, readingOf(reading))

/** The one entity that metadata are about. */
export async function entityOf(text: string, reading: MetadataReading): Promise<Element> {
  const root = await xmlRootOf(text, readingOf(reading))
  const entity = root && onlyEntityIn(root)
  if (entity) return entity
  throw reading.refusedError("the metadata must have one md:EntityDescriptor, and no others")
}

/** SAML Metadata §2.3.1: federations write one entity, too, as a list. The list may end earlier. */
function onlyEntityIn(root: Element): Element | undefined {
  if (root.namespaceURI !== namespaces.md) return undefined
  if (root.localName === "EntityDescriptor") return root
  if (root.localName !== "EntitiesDescriptor") return undefined
  const [only, ...others] = [
    ...childrenOf(root, "md", "EntityDescriptor"),
    ...childrenOf(root, "md", "EntitiesDescriptor"),
  ]
  const entity = only && others.length === 0 ? onlyEntityIn(only) : undefined
  const until = attributeOf(root, "validUntil")
  if (!entity || until === undefined) return entity
  const own = attributeOf(entity, "validUntil")
  const isEarlier = own === undefined || !(Date.parse(own) <= Date.parse(until))
  if (isEarlier) entity.setAttribute("validUntil", until)
  return entity
}

/** Who an entity says it is. */
export function entityIdOf(entity: Element, { refusedError }: MetadataReading): string {
  const entityId = entity.getAttribute("entityID") ?? ""
  if (/^[^\s\p{Cc}]+$/u.test(entityId) && entityId.length <= entityIdMax) return entityId
  throw refusedError(`the metadata must have an entityID of 1 to ${entityIdMax} visible characters`)
}

/** One of a list that is separated by blanks (SAML Metadata §2.4.1). */
const protocol = /(^|\s)urn:oasis:names:tc:SAML:2\.0:protocol(\s|$)/

/** What an entity is, as far as that speaks SAML 2.0. */
export const rolesOf = (
  entity: Element,
  name: "IDPSSODescriptor" | "SPSSODescriptor",
): readonly Element[] =>
  childrenOf(entity, "md", name).filter((role) =>
    protocol.test(role.getAttribute("protocolSupportEnumeration") ?? ""),
  )

/** SAML Metadata §2.3.2 and §2.4.1: what has expired counts no more; `now` is ms UTC. */
export function mustBeValid(
  elements: readonly Element[],
  now: number,
  { refusedError }: MetadataReading,
): void {
  for (const element of elements) {
    const until = element.getAttribute("validUntil")
    if (!until) continue
    const end = Date.parse(until)
    if (!Number.isFinite(end)) throw refusedError("validUntil of the metadata must be a time")
    if (end <= now) throw refusedError(`the metadata was valid until ${until}; make it anew`)
  }
}

/** When the first of several ends, ms UTC; undefined where none says so. */
export function validUntilOf(elements: readonly Element[]): number | undefined {
  const ends = elements.flatMap((each) => timeOf(attributeOf(each, "validUntil")) ?? [])
  return ends.length > 0 ? Math.min(...ends) : undefined
}

/** Whether a text is the address of a page that a browser may be sent to. */
export function isWebAddress(text: string): boolean {
  const url = /^[\x21-\x7e]+$/.test(text) ? URL.parse(text) : undefined
  const isWeb = url?.protocol === "https:" || url?.protocol === "http:"
  return isWeb && !text.includes("#") && text.length <= addressMax
}

/** Where an entity takes requests to sign out, and the answers to its own. */
export type LogoutService = {
  readonly url: string
  readonly responseUrl: string
  readonly binding: Binding
}

/** A SingleLogoutService; none where nobody's browser could be sent there. */
export function logoutServicesOf(each: Element): readonly LogoutService[] {
  const binding = bindingOf(attributeOf(each, "Binding"))
  const url = webAddress(attributeOf(each, "Location"))
  if (!binding || !url) return []
  return [{ url, binding, responseUrl: webAddress(attributeOf(each, "ResponseLocation")) ?? url }]
}

const webAddress = (text = ""): string | undefined => (isWebAddress(text) ? text : undefined)

/** SAML Metadata §2.4.1.1: a key without a word about its use is for both. */
export const isForSigning = (descriptor: Element): boolean =>
  (attributeOf(descriptor, "use") ?? "signing") === "signing"

/** The keys of a KeyDescriptor that can be used, in PEM. */
export const keysOf = (descriptor: Element): readonly string[] =>
  allOf(descriptor, "ds", "X509Certificate").flatMap(
    (each) => keyOfCertificate(each.textContent ?? "") ?? [],
  )

/** The keys of a KeyDescriptor that signatures can be checked with, in PEM. */
export const signingKeysOf = (descriptor: Element): readonly string[] =>
  allOf(descriptor, "ds", "X509Certificate").flatMap(({ textContent }) => {
    const text = textContent ?? ""
    return keyOfCertificate(text) ?? curveKeyOfCertificate(text) ?? []
  })

/**
 * For whom what is said is encrypted: the first key for that which can be used. Undefined where
 * there is none for that; "unusable" where no key for that can be used.
 */
export function recipientOf(descriptors: readonly Element[]): Recipient | "unusable" | undefined {
  // A key without a word about its use is for both, and few of those who say none can decrypt.
  const wanted = descriptors.filter((each) => attributeOf(each, "use") === "encryption")
  for (const descriptor of wanted) {
    const certificate = allOf(descriptor, "ds", "X509Certificate")
      .map((each) => (each.textContent ?? "").replaceAll(/\s/g, ""))
      .find((each) => keyOfCertificate(each) !== undefined)
    const methods = childrenOf(descriptor, "md", "EncryptionMethod").flatMap(
      (each) => attributeOf(each, "Algorithm") ?? [],
    )
    if (certificate !== undefined) return { certificate, methods }
  }
  return wanted.length > 0 ? "unusable" : undefined
}

/** What refuses an address of metadata: one that can't be, and one where nobody answers. */
export type FetchErrors = {
  readonly refusedError: (message: string) => Error
  readonly unreachableError: (message: string) => Error
}

/** Fetches metadata by the guarded way out. */
export async function fetchedMetadata(
  send: Outbound,
  url: string,
  { refusedError, unreachableError }: FetchErrors,
): Promise<Uint8Array> {
  if (!isWebAddress(url)) {
    throw refusedError(
      `metadata_url must begin with https:// or http://, ${addressMax} letters at most`,
    )
  }
  const answer = await send({ url, method: "GET", sizeMax: metadataMax }).catch(() => undefined)
  if (!answer) {
    const wanted = "on the internet, within 5 seconds and 500,000 bytes"
    throw unreachableError(`nothing answers at metadata_url ${wanted}; send metadata_xml instead`)
  }
  if (answer.status !== 200)
    throw unreachableError(`metadata_url answers with ${answer.status}, not 200`)
  return Buffer.from(answer.body)
}
