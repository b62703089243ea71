import { Fault } from "../../../kernel/fault.ts"
import type { ClaimChange, Cx } from "../../../store/index.ts"
import {
  entityIdOf,
  entityOf,
  fetchedMetadata,
  isWebAddress,
  type MetadataReading,
  metadataText,
  modestBounds,
  mustBeValid,
  recipientOf,
  rolesOf,
} from "../../../xml/metadata.ts"
import { bindingOf } from "../../../xml/names.ts"
import { childrenOf, type Element } from "../../../xml/read.ts"
import type { SamlConfig } from "../model.ts"

/** What a service provider says of itself, as it was said, and who it says it is. */
export type Metadata = Pick<SamlConfig, "metadata" | "entityId">

/** Fetches metadata, once: what its address says later is read when it is set again. */
export async function fetchMetadata(cx: Cx, url: string): Promise<Metadata> {
  const xml = await fetchedMetadata(cx.outside.send, url, { refusedError, unreachableError })
  return readMetadata(xml, cx.clock.now())
}

/** Reads metadata of one service provider, strictly; `now` is ms UTC. */
export async function readMetadata(xml: Uint8Array, now: number): Promise<Metadata> {
  const metadata = metadataText(xml, reading())
  const entity = await rootOf(metadata)
  const entityId = entityIdOf(entity, reading())
  const providers = providersOf(entity)
  if (providers.length === 0) {
    throw refusedError("the metadata must have an SPSSODescriptor that speaks SAML 2.0")
  }
  mustBeValid([entity, ...providers], now, reading())
  const consumers = providers.flatMap((each) => childrenOf(each, "md", "AssertionConsumerService"))
  const usable = consumers.filter((each) => bindingOf(each.getAttribute("Binding")))
  if (usable.length === 0) {
    throw refusedError(
      "the metadata must have an AssertionConsumerService for HTTP-POST or -Redirect",
    )
  }
  for (const each of usable) checkConsumer(each)
  const descriptors = providers.flatMap((each) => childrenOf(each, "md", "KeyDescriptor"))
  if (recipientOf(descriptors) === "unusable") {
    throw refusedError(
      "the certificate for encryption in the metadata must have an RSA key from 2048 bits; " +
        "leave it out to have nothing encrypted",
    )
  }
  return { metadata, entityId }
}

const reading = (): MetadataReading => ({ refusedError, bounds: modestBounds })

/** The service providers of an entity that speak SAML 2.0. */
export const providersOf = (entity: Element): readonly Element[] =>
  rolesOf(entity, "SPSSODescriptor")

/** Reads metadata that was within its bounds when it came. */
export const rootOf = (text: string): Promise<Element> => entityOf(text, reading())

function checkConsumer(consumer: Element): void {
  if (isWebAddress(consumer.getAttribute("Location") ?? "")) return
  const wanted = "must begin with https:// or http://, without a fragment"
  throw refusedError(`Location of an AssertionConsumerService ${wanted}`)
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
