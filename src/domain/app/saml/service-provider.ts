import { type Cx, cacheQuery } from "../../../store/index.ts"
import type { Element } from "../../../xml/document.ts"
import type { Recipient } from "../../../xml/encrypt.ts"
import {
  isForSigning,
  type LogoutService,
  logoutServicesOf,
  recipientOf,
  signingKeysOf,
  validUntilOf,
} from "../../../xml/metadata.ts"
import { type Binding, bindingOf, type NameIdFormat, nameIdFormatOf } from "../../../xml/names.ts"
import { childrenOf, findAttribute, isTrue } from "../../../xml/read.ts"
import { app, type SamlApp } from "../model.ts"
import { entityClaim, parseStoredMetadata, providersOf } from "./metadata.ts"

/** An endpoint of a service provider that receives responses to AuthnRequests. */
export type Consumer = {
  readonly url: string
  readonly binding: Binding
  readonly index: number | undefined
}

/** The parts of a SAML application's metadata that Latchkey uses. */
export type ServiceProvider = {
  readonly entityId: string
  /** The first one is used if a request names none. */
  readonly consumers: readonly Consumer[]
  readonly logout: readonly LogoutService[]
  /** Public keys (PEM) that verify its signatures. */
  readonly signingKeys: readonly string[]
  /**
   * The recipient that assertions are encrypted for; absent if they are not encrypted. "unusable"
   * if the metadata requests encryption with a key that can't be used; then no assertion is issued.
   */
  readonly recipient?: Recipient | "unusable"
  readonly signsRequests: boolean
  readonly nameIdFormats: readonly NameIdFormat[]
  /** When the metadata expires, ms UTC; undefined if it specifies no expiry. */
  readonly validUntil: number | undefined
}

/** A SAML application with its parsed metadata. */
export type RegisteredServiceProvider = {
  readonly appId: string
  readonly state: SamlApp
  readonly provider: ServiceProvider
}

/** The application with this entity ID, active or not; undefined if there is none. */
export async function findServiceProvider(
  cx: Cx,
  entityId: string,
): Promise<RegisteredServiceProvider | undefined> {
  const holder = cx.store.log.holder(cx.instance, entityClaim, entityId, cx.clock.now())
  return holder?.stream === app.stream ? findServiceProviderByApp(cx, holder.id) : undefined
}

/** The SAML application with this ID; undefined for applications of other types. */
export async function findServiceProviderByApp(
  cx: Cx,
  appId: string,
): Promise<RegisteredServiceProvider | undefined> {
  const state = cx.store.state(cx, app, appId)
  if (!("kind" in state) || state.kind !== "saml") return undefined
  const cache = providerCache(cx)
  const before = cache.get(appId)
  const provider = before ?? (await parseProvider(state))
  if (!before) {
    if (cache.size >= providerCacheMax) cache.clear()
    cache.set(appId, provider)
  }
  return { appId, state, provider }
}

/** Cleared when an application changes, so that metadata is not parsed for each sign-in. */
const providerCache = cacheQuery(() => new Map<string, ServiceProvider>(), [app.stream])
const providerCacheMax = 1000

async function parseProvider({ saml }: SamlApp): Promise<ServiceProvider> {
  const entity = await parseStoredMetadata(saml.metadata)
  const providers = providersOf(entity)
  const below = (name: string) => providers.flatMap((each) => childrenOf(each, "md", name))
  const [first] = providers
  const recipient = recipientOf(below("KeyDescriptor"))
  return {
    entityId: saml.entityId,
    consumers: consumersOf(below("AssertionConsumerService")),
    logout: below("SingleLogoutService").flatMap(logoutServicesOf),
    signingKeys: below("KeyDescriptor").filter(isForSigning).flatMap(signingKeysOf),
    ...(recipient && { recipient }),
    signsRequests: isTrue(findAttribute(first, "AuthnRequestsSigned")),
    nameIdFormats: below("NameIDFormat").flatMap(
      (each) => nameIdFormatOf((each.textContent ?? "").trim()) ?? [],
    ),
    validUntil: validUntilOf([entity, ...providers]),
  }
}

/**
 * SAML Metadata §2.2.3: the default endpoint first; without one, the first that is not marked
 * isDefault="false".
 */
function consumersOf(elements: readonly Element[]): readonly Consumer[] {
  const rank = (each: Element): number => {
    const isDefault = findAttribute(each, "isDefault")
    return isDefault === undefined ? 1 : isTrue(isDefault) ? 0 : 2
  }
  return elements
    .toSorted((left, right) => rank(left) - rank(right))
    .flatMap((each) => {
      const binding = bindingOf(findAttribute(each, "Binding"))
      const url = findAttribute(each, "Location")
      const index = Number.parseInt(findAttribute(each, "index") ?? "", 10)
      if (!binding || !url) return []
      return [{ url, binding, index: Number.isNaN(index) ? undefined : index }]
    })
}
