import { Fault } from "../../../kernel/fault.ts"
import type { ClaimChange, Cx } from "../../../store/index.ts"
import {
  decodeMetadata,
  downloadMetadata,
  entityIdOf,
  isWebUrl,
  type MetadataReading,
  metadataBounds,
  parseEntity,
  recipientOf,
  requireNotExpired,
  rolesOf,
} from "../../../xml/metadata.ts"
import { bindingOf } from "../../../xml/names.ts"
import { childrenOf, type Element } from "../../../xml/read.ts"
import type { SamlConfig } from "../model.ts"

/** The metadata of a service provider as received, with its entity ID. */
export type Metadata = Pick<SamlConfig, "metadata" | "entityId">

/** Fetches metadata once. Later changes at its URL have no effect until it is set again. */
export async function fetchMetadata(cx: Cx, url: string): Promise<Metadata> {
  const xml = await downloadMetadata(cx.outside.send, url, {
    refusedError: invalidMetadataError,
    unreachableError: metadataUnreachableError,
  })
  return parseMetadata(xml, cx.clock.now())
}

/** Parses the metadata of one service provider, strictly; `now` is ms UTC. */
export async function parseMetadata(xml: Uint8Array, now: number): Promise<Metadata> {
  const metadata = decodeMetadata(xml, readingOptions())
  const entity = await parseStoredMetadata(metadata)
  const entityId = entityIdOf(entity, readingOptions())
  const providers = providersOf(entity)
  if (providers.length === 0) {
    throw invalidMetadataError("the metadata must have an SPSSODescriptor that supports SAML 2.0")
  }
  requireNotExpired([entity, ...providers], now, readingOptions())
  const consumers = providers.flatMap((each) => childrenOf(each, "md", "AssertionConsumerService"))
  const usable = consumers.filter((each) => bindingOf(each.getAttribute("Binding")))
  if (usable.length === 0) {
    throw invalidMetadataError(
      "the metadata must have an AssertionConsumerService with the HTTP-POST or " +
        "HTTP-Redirect binding",
    )
  }
  for (const each of usable) validateConsumer(each)
  const descriptors = providers.flatMap((each) => childrenOf(each, "md", "KeyDescriptor"))
  if (recipientOf(descriptors) === "unusable") {
    throw invalidMetadataError(
      "the encryption certificate in the metadata must have an RSA key of at least 2048 " +
        "bits; remove the certificate to turn off encryption",
    )
  }
  return { metadata, entityId }
}

const readingOptions = (): MetadataReading => ({
  refusedError: invalidMetadataError,
  bounds: metadataBounds,
})

/** The SPSSODescriptor elements of an entity that support SAML 2.0. */
export const providersOf = (entity: Element): readonly Element[] =>
  rolesOf(entity, "SPSSODescriptor")

/** Parses stored metadata, whose limits were checked when it was received. */
export const parseStoredMetadata = (text: string): Promise<Element> =>
  parseEntity(text, readingOptions())

function validateConsumer(consumer: Element): void {
  if (isWebUrl(consumer.getAttribute("Location") ?? "")) return
  const requirement = "must begin with https:// or http:// and must not have a fragment"
  throw invalidMetadataError(`Location of an AssertionConsumerService ${requirement}`)
}

/**
 * Each entity ID belongs to one application of the instance, because requests contain nothing else
 * that identifies it.
 */
export const entityClaim = "saml_entity"

export const takeEntity = (key: string): ClaimChange => ({
  take: entityClaim,
  key,
  taken: {
    id: "app.entity_id_taken",
    message: "another application already has this entityID; update that application instead",
  },
})

export const releaseEntity = (key: string): ClaimChange => ({ release: entityClaim, key })

const invalidMetadataError = (message: string) =>
  new Fault("invalid_argument", "app.metadata_invalid", message)

const metadataUnreachableError = (message: string) =>
  new Fault("failed_precondition", "app.metadata_unreachable", message)
