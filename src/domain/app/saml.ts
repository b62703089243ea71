import { Fault } from "../../kernel/fault.ts"
import {
  type Element,
  isElement,
  type XmlReading,
  xmlRootOf,
  xmlTextOf,
} from "../../kernel/text/xml.ts"
import type { ClaimChange, Cx } from "../../store/index.ts"
import type { SamlConfig } from "./model.ts"

/** What a service provider says of itself, as it was said, and who it says it is. */
export type Metadata = Pick<SamlConfig, "metadata" | "entityId">

const metadataNs = "urn:oasis:names:tc:SAML:2.0:metadata"
/** One of a list that is separated by blanks. */
const protocol = /(^|\s)urn:oasis:names:tc:SAML:2\.0:protocol(\s|$)/
/** How an answer may be handed to a service provider. */
const bindings: readonly string[] = [
  "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST",
  "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect",
]

const sizeMax = 500_000
const addressMax = 2048
/** SAML Metadata §2.2.1. */
const entityIdMax = 1024

/** Fetches metadata, once: what its address says later is read when it is set again. */
export async function fetchMetadata(cx: Cx, url: string): Promise<Metadata> {
  if (url.length > addressMax || !isWeb(url)) {
    throw refusedError(
      `metadata_url must begin with https:// or http://, ${addressMax} letters at most`,
    )
  }
  const answer = await cx.outside.send({ url, method: "GET", sizeMax }).catch(() => undefined)
  if (!answer) {
    const wanted = "on the internet, within 5 seconds and 500,000 bytes"
    throw unreachableError(`nothing answers at metadata_url ${wanted}; send metadata_xml instead`)
  }
  if (answer.status !== 200)
    throw unreachableError(`metadata_url answers with ${answer.status}, not 200`)
  return readMetadata(Buffer.from(answer.body), cx.clock.now())
}

/** Reads metadata of one service provider, strictly; `now` is ms UTC. */
export async function readMetadata(xml: Uint8Array, now: number): Promise<Metadata> {
  const metadata = xmlTextOf(xml, reading())
  const entity = await rootOf(metadata)
  const entityId = entity.getAttribute("entityID") ?? ""
  if (!/^[^\s\p{Cc}]+$/u.test(entityId) || entityId.length > entityIdMax) {
    throw refusedError(
      `the metadata must have an entityID of 1 to ${entityIdMax} visible characters`,
    )
  }
  const providers = providersOf(entity)
  if (providers.length === 0) {
    throw refusedError("the metadata must have an SPSSODescriptor that speaks SAML 2.0")
  }
  for (const each of [entity, ...providers]) checkValid(each, now)
  const consumers = providers.flatMap((each) => childrenOf(each, "AssertionConsumerService"))
  const usable = consumers.filter((each) => bindings.includes(each.getAttribute("Binding") ?? ""))
  if (usable.length === 0) {
    throw refusedError(
      "the metadata must have an AssertionConsumerService for HTTP-POST or -Redirect",
    )
  }
  for (const each of usable) checkConsumer(each)
  return { metadata, entityId }
}

/** Within these the parser takes some milliseconds, whatever somebody thinks up. */
const reading = (): XmlReading => ({
  name: "the metadata",
  bytesMax: sizeMax,
  bounds: [
    ["<", 3000, "tags"],
    ["=", 1000, "attributes"],
    ["xmlns", 200, "namespaces"],
    ["&", 10_000, "references"],
    ["-", 10_000, "hyphens"],
    ["\r", 20_000, "carriage returns"],
  ],
  refusedError,
})

/** The service providers of an entity that speak SAML 2.0. */
export const providersOf = (entity: Element): readonly Element[] =>
  childrenOf(entity, "SPSSODescriptor").filter(speaksSaml)

/** Reads metadata that was within its bounds when it came. */
export async function rootOf(text: string): Promise<Element> {
  const root = await xmlRootOf(text, reading())
  if (root?.namespaceURI !== metadataNs || root.localName !== "EntityDescriptor") {
    throw refusedError("the metadata must be one md:EntityDescriptor, without others around it")
  }
  return root
}

const childrenOf = (parent: Element, name: string): readonly Element[] =>
  Array.from(parent.childNodes)
    .filter(isElement)
    .filter(({ namespaceURI, localName }) => namespaceURI === metadataNs && localName === name)

/** SAML Metadata §2.4.1. */
const speaksSaml = (provider: Element): boolean =>
  protocol.test(provider.getAttribute("protocolSupportEnumeration") ?? "")

/** SAML Metadata §2.3.2 and §2.4.1: what has expired counts no more. */
function checkValid(element: Element, now: number): void {
  const until = element.getAttribute("validUntil")
  if (!until) return
  const end = Date.parse(until)
  if (!Number.isFinite(end)) throw refusedError("validUntil of the metadata must be a time")
  if (end <= now) throw refusedError(`the metadata was valid until ${until}; make it anew`)
}

function checkConsumer(consumer: Element): void {
  const location = consumer.getAttribute("Location") ?? ""
  if (location.length <= addressMax && isWeb(location)) return
  const wanted = "must begin with https:// or http://, without a fragment"
  throw refusedError(`Location of an AssertionConsumerService ${wanted}`)
}

function isWeb(text: string): boolean {
  const url = /^[\x21-\x7e]+$/.test(text) ? URL.parse(text) : undefined
  return (url?.protocol === "https:" || url?.protocol === "http:") && !text.includes("#")
}

/** One service provider is one application of the instance: its requests name nothing else. */
export const entityClaim = "saml_entity"

export const takeEntity = (key: string): ClaimChange => ({
  take: entityClaim,
  key,
  taken: {
    id: "app.entity_id_taken",
    message: "another application has this entityID; change that one instead",
  },
})

export const releaseEntity = (key: string): ClaimChange => ({ release: entityClaim, key })

const refusedError = (message: string) =>
  new Fault("invalid_argument", "app.metadata_invalid", message)

const unreachableError = (message: string) =>
  new Fault("failed_precondition", "app.metadata_unreachable", message)
