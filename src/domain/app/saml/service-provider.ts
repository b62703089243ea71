import { type Cx, cached } from "../../../store/index.ts"
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
import { attributeOf, childrenOf, isTrue } from "../../../xml/read.ts"
import { app, type SamlApp } from "../model.ts"
import { entityClaim, providersOf, rootOf } from "./metadata.ts"

/** Where a service provider takes answers to requests to sign somebody in. */
export type Consumer = {
  readonly url: string
  readonly binding: Binding
  readonly index: number | undefined
}

/** What the metadata of a SAML application says, as far as anybody goes by it. */
export type ServiceProvider = {
  readonly entityId: string
  /** The one first that is used where a request names none. */
  readonly consumers: readonly Consumer[]
  readonly logout: readonly LogoutService[]
  /** Keys that its signatures are checked with, in PEM. */
  readonly signingKeys: readonly string[]
  /**
   * For whom assertions are encrypted; absent where they are not. "unusable" where they were to be,
   * for a key that nobody can encrypt for: then there is none.
   */
  readonly recipient?: Recipient | "unusable"
  readonly signsRequests: boolean
  readonly nameIdFormats: readonly NameIdFormat[]
  /** When the metadata ends, ms UTC; undefined where it says nothing. */
  readonly validUntil: number | undefined
}

/** A SAML application, and what its metadata says. */
export type FoundProvider = {
  readonly appId: string
  readonly state: SamlApp
  readonly provider: ServiceProvider
}

/** The application with exactly this entity id, usable or not; undefined for anything else. */
export async function findServiceProvider(
  cx: Cx,
  entityId: string,
): Promise<FoundProvider | undefined> {
  const holder = cx.store.log.holder(cx.instance, entityClaim, entityId, cx.clock.now())
  return holder?.stream === app.stream ? serviceProviderOf(cx, holder.id) : undefined
}

/** What the metadata of an application says; undefined for one that does not speak SAML. */
export async function serviceProviderOf(cx: Cx, appId: string): Promise<FoundProvider | undefined> {
  const state = cx.store.state(cx, app, appId)
  if (!("kind" in state) || state.kind !== "saml") return undefined
  const known = read(cx)
  const before = known.get(appId)
  const provider = before ?? (await readProvider(state))
  if (!before) {
    if (known.size >= readMax) known.clear()
    known.set(appId, provider)
  }
  return { appId, state, provider }
}

/** Good until an application changes: the metadata of one is read once, not with each sign-in. */
const read = cached(() => new Map<string, ServiceProvider>(), [app.stream])
const readMax = 1000

async function readProvider({ saml }: SamlApp): Promise<ServiceProvider> {
  const entity = await rootOf(saml.metadata)
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
    signsRequests: isTrue(attributeOf(first, "AuthnRequestsSigned")),
    nameIdFormats: below("NameIDFormat").flatMap(
      (each) => nameIdFormatOf((each.textContent ?? "").trim()) ?? [],
    ),
    validUntil: validUntilOf([entity, ...providers]),
  }
}

/** SAML Metadata §2.2.3: the default one first, else what is not said to be none. */
function consumersOf(elements: readonly Element[]): readonly Consumer[] {
  const rank = (each: Element): number => {
    const isDefault = attributeOf(each, "isDefault")
    return isDefault === undefined ? 1 : isTrue(isDefault) ? 0 : 2
  }
  return elements
    .toSorted((left, right) => rank(left) - rank(right))
    .flatMap((each) => {
      const binding = bindingOf(attributeOf(each, "Binding"))
      const url = attributeOf(each, "Location")
      const index = Number.parseInt(attributeOf(each, "index") ?? "", 10)
      if (!binding || !url) return []
      return [{ url, binding, index: Number.isNaN(index) ? undefined : index }]
    })
}
