import type { Outbound } from "../kernel/port/outbound.ts"
import { decodeXml, parseXml, type XmlReading } from "./document.ts"
import type { Recipient } from "./encrypt.ts"
import { type Binding, bindingOf, namespaces } from "./names.ts"
import { childrenOf, type Element, findAll, findAttribute, parseTime } from "./read.ts"
import { curveKeyOfCertificate, keyOfCertificate } from "./verify.ts"

/** Maximum size of a document in bytes. */
export const maxMetadataBytes = 500_000

const maxUrlLength = 2048
/** SAML Metadata §2.2.1. */
const maxEntityIdLength = 1024

/** How to read another party's metadata: the error to throw, and the limits. */
export type MetadataReading = Pick<XmlReading, "refusedError" | "bounds">

/** Within these limits, parsing takes milliseconds for any input. */
export const metadataBounds: XmlReading["bounds"] = [
  ["<", 3000, "tags"],
  ["=", 1000, "attributes"],
  ["xmlns", 200, "namespaces"],
  ["&", 10_000, "references"],
  ["-", 10_000, "hyphens"],
  ["\r", 20_000, "carriage returns"],
]

const toXmlReading = (reading: MetadataReading): XmlReading => ({
  name: "the metadata",
  bytesMax: maxMetadataBytes,
  ...reading,
})

/** Metadata as text, within its limits. */
export const decodeMetadata = (xml: Uint8Array, reading: MetadataReading): string =>
  decodeXml(xml, toXmlReading(reading))

/** The single entity that metadata describes. */
export async function parseEntity(text: string, reading: MetadataReading): Promise<Element> {
  const root = await parseXml(text, toXmlReading(reading))
  const entity = root && findOnlyEntity(root)
  if (entity) return entity
  throw reading.refusedError("the metadata must have exactly one md:EntityDescriptor")
}

/**
 * SAML Metadata §2.3.1: federations also wrap a single entity in a list. The list may expire
 * earlier.
 */
function findOnlyEntity(root: Element): Element | undefined {
  if (root.namespaceURI !== namespaces.md) return undefined
  if (root.localName === "EntityDescriptor") return root
  if (root.localName !== "EntitiesDescriptor") return undefined
  const [only, ...others] = [
    ...childrenOf(root, "md", "EntityDescriptor"),
    ...childrenOf(root, "md", "EntitiesDescriptor"),
  ]
  const entity = only && others.length === 0 ? findOnlyEntity(only) : undefined
  const until = findAttribute(root, "validUntil")
  if (!entity || until === undefined) return entity
  const own = findAttribute(entity, "validUntil")
  const isEarlier = own === undefined || !(Date.parse(own) <= Date.parse(until))
  if (isEarlier) entity.setAttribute("validUntil", until)
  return entity
}

/** The entity ID. */
export function entityIdOf(
  entity: Element,
  { refusedError: rejectedError }: MetadataReading,
): string {
  const entityId = entity.getAttribute("entityID") ?? ""
  if (/^[^\s\p{Cc}]+$/u.test(entityId) && entityId.length <= maxEntityIdLength) return entityId
  throw rejectedError(
    `the metadata must have an entityID of 1 to ${maxEntityIdLength} visible characters`,
  )
}

/** An entry in a whitespace-separated list (SAML Metadata §2.4.1). */
const saml2Protocol = /(^|\s)urn:oasis:names:tc:SAML:2\.0:protocol(\s|$)/

/** The SAML 2.0 roles of an entity. */
export const rolesOf = (
  entity: Element,
  name: "IDPSSODescriptor" | "SPSSODescriptor",
): readonly Element[] =>
  childrenOf(entity, "md", name).filter((role) =>
    saml2Protocol.test(role.getAttribute("protocolSupportEnumeration") ?? ""),
  )

/** SAML Metadata §2.3.2 and §2.4.1: rejects expired metadata; `now` is ms UTC. */
export function requireNotExpired(
  elements: readonly Element[],
  now: number,
  { refusedError: rejectedError }: MetadataReading,
): void {
  for (const element of elements) {
    const until = element.getAttribute("validUntil")
    if (!until) continue
    const end = Date.parse(until)
    if (!Number.isFinite(end)) throw rejectedError("validUntil of the metadata must be a time")
    if (end <= now) throw rejectedError(`the metadata was valid until ${until}; create it again`)
  }
}

/** The earliest expiry of several elements, ms UTC; undefined if none has one. */
export function validUntilOf(elements: readonly Element[]): number | undefined {
  const ends = elements.flatMap((each) => parseTime(findAttribute(each, "validUntil")) ?? [])
  return ends.length > 0 ? Math.min(...ends) : undefined
}

/** Whether a text is the URL of a page that a browser can be redirected to. */
export function isWebUrl(text: string): boolean {
  const url = /^[\x21-\x7e]+$/.test(text) ? URL.parse(text) : undefined
  const isWeb = url?.protocol === "https:" || url?.protocol === "http:"
  return isWeb && !text.includes("#") && text.length <= maxUrlLength
}

/** Where an entity receives logout requests, and the responses to its own. */
export type LogoutService = {
  readonly url: string
  readonly responseUrl: string
  readonly binding: Binding
}

/** The valid SingleLogoutService endpoints, which browsers can be redirected to. */
export function logoutServicesOf(each: Element): readonly LogoutService[] {
  const binding = bindingOf(findAttribute(each, "Binding"))
  const url = webUrlOrUndefined(findAttribute(each, "Location"))
  if (!binding || !url) return []
  return [
    {
      url,
      binding,
      responseUrl: webUrlOrUndefined(findAttribute(each, "ResponseLocation")) ?? url,
    },
  ]
}

const webUrlOrUndefined = (text = ""): string | undefined => (isWebUrl(text) ? text : undefined)

/** SAML Metadata §2.4.1.1: a key without a use is for both. */
export const isForSigning = (descriptor: Element): boolean =>
  (findAttribute(descriptor, "use") ?? "signing") === "signing"

/** The supported keys of a KeyDescriptor, in PEM. */
export const keysOf = (descriptor: Element): readonly string[] =>
  findAll(descriptor, "ds", "X509Certificate").flatMap(
    (each) => keyOfCertificate(each.textContent ?? "") ?? [],
  )

/** The keys of a KeyDescriptor for verifying signatures, in PEM. */
export const signingKeysOf = (descriptor: Element): readonly string[] =>
  findAll(descriptor, "ds", "X509Certificate").flatMap(({ textContent }) => {
    const text = textContent ?? ""
    return keyOfCertificate(text) ?? curveKeyOfCertificate(text) ?? []
  })

/**
 * The encryption recipient: the first supported encryption key. Undefined if there is no encryption
 * key; "unusable" if none is supported.
 */
export function recipientOf(descriptors: readonly Element[]): Recipient | "unusable" | undefined {
  // A key without a use is for both, but few parties with such keys can decrypt.
  const condition = descriptors.filter((each) => findAttribute(each, "use") === "encryption")
  for (const descriptor of condition) {
    const certificate = findAll(descriptor, "ds", "X509Certificate")
      .map((each) => (each.textContent ?? "").replaceAll(/\s/g, ""))
      .find((each) => keyOfCertificate(each) !== undefined)
    const methods = childrenOf(descriptor, "md", "EncryptionMethod").flatMap(
      (each) => findAttribute(each, "Algorithm") ?? [],
    )
    if (certificate !== undefined) return { certificate, methods }
  }
  return condition.length > 0 ? "unusable" : undefined
}

/** The errors for an invalid metadata URL, and for one that doesn't respond. */
export type FetchErrors = {
  readonly refusedError: (message: string) => Error
  readonly unreachableError: (message: string) => Error
}

/** Fetches metadata over the protected outbound client. */
export async function downloadMetadata(
  send: Outbound,
  url: string,
  { refusedError: rejectedError, unreachableError }: FetchErrors,
): Promise<Uint8Array> {
  if (!isWebUrl(url)) {
    throw rejectedError(
      `metadata_url must start with https:// or http:// and be at most ${maxUrlLength} characters`,
    )
  }
  const answer = await send({ url, method: "GET", sizeMax: maxMetadataBytes }).catch(
    () => undefined,
  )
  if (!answer) {
    const condition = "on the internet, within 5 seconds and 500,000 bytes"
    throw unreachableError(`no response from metadata_url ${condition}; send metadata_xml instead`)
  }
  if (answer.status !== 200)
    throw unreachableError(`metadata_url returned status ${answer.status} instead of 200`)
  return Buffer.from(answer.body)
}
