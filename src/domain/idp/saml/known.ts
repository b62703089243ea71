import { createHash } from "node:crypto"
import { Fault } from "../../../kernel/fault.ts"
import { type Lru, lru } from "../../../kernel/lru.ts"
import { type Cx, cached, ofInstance } from "../../../store/index.ts"
import { fetchedMetadata, metadataText } from "../../../xml/metadata.ts"
import { type Found, metadataOf, mustBeSame, placeId } from "../commands.ts"
import { refusedError } from "../field.ts"
import { idpMetadata, idps, type Settings } from "../model.ts"
import { upstreamError } from "../upstream/identity.ts"
import { keepMetadata } from "./keep.ts"
import { metadataReading, providerOf, type SamlProvider, usableProviderOf } from "./provider.ts"

const minute = 60_000

/** How long metadata count that were read from their address. */
const freshMs = 12 * 60 * minute
/** An address that does not answer holds up nobody more often than this. */
const againMs = 10 * minute
/** A key that nobody knows may be new; whoever makes them up has them read no more often. */
const unknownKeyMs = minute

const triesMax = 500
const triesOf = ofInstance<Lru<number>>(() => lru(triesMax))

const parsed = cached(() => new Map<string, SamlProvider>(), [idpMetadata.stream])
const parsedMax = 500

type Saml = Extract<Settings, { kind: "saml" }>

/** The settings of a provider that speaks SAML; refuses any other. */
export function samlOf({ idp: { settings } }: Pick<Found, "idp">): Saml {
  if (settings.kind === "saml") return settings
  throw upstreamError("answer_refused", "the provider does not speak SAML")
}

/**
 * What a provider says of itself, as it was kept; nobody is asked. Refuses one that was set up as
 * another meanwhile, for then these are not what it was found with.
 */
export async function keptProvider(cx: Cx, { idp }: Pick<Found, "idp">): Promise<SamlProvider> {
  mustBeSame(cx, idp)
  const known = parsed(cx)
  const before = known.get(idp.id)
  if (before) return before
  const provider = await providerOf(metadataOf(cx, idp.id))
  if (known.size >= parsedMax) known.clear()
  known.set(idp.id, provider)
  return provider
}

/**
 * The same, read anew where it is old and has an address. Where that does not answer, or says
 * something else than it may, what is known counts on, and the log has why.
 */
export async function providerNow(cx: Cx, found: Found): Promise<SamlProvider> {
  const kept = await keptProvider(cx, found)
  const { read } = cx.store.state(cx, idpMetadata, found.idp.id)
  const now = cx.clock.now()
  const isOver = now >= (kept.validUntil ?? Number.POSITIVE_INFINITY)
  const isOld = now >= read + freshMs
  const provider = isOver || isOld ? await readAgain(cx, found, againMs) : kept
  if (now < (provider.validUntil ?? Number.POSITIVE_INFINITY)) return provider
  throw upstreamError("answer_refused", "the metadata of the provider have expired")
}

/** The same for a signature that none of the known keys has made. */
export const providerWithNewKeys = (cx: Cx, found: Found): Promise<SamlProvider> =>
  readAgain(cx, found, unknownKeyMs)

async function readAgain(cx: Cx, found: Found, atMostMs: number): Promise<SamlProvider> {
  const { metadataUrl, entityId } = samlOf(found)
  const { id } = found.idp
  const now = cx.clock.now()
  const tries = triesOf(cx)
  const isTooSoon = now < (tries.get(id) ?? Number.NEGATIVE_INFINITY) + atMostMs
  if (metadataUrl === "" || isTooSoon) return keptProvider(cx, found)
  tries.set(id, now)
  try {
    const metadata = await metadataAt(cx, metadataUrl)
    const provider = await usableProviderOf(metadata, now)
    if (provider.entityId !== entityId) throw entityChangedError(provider.entityId)
    await keepAgain(cx, found, metadata)
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    cx.warn(`the metadata of identity provider ${id} could not be read anew: ${cause.message}`)
  }
  return keptProvider(cx, found)
}

/** Keeps what was read, unless it was set up otherwise meanwhile. */
const keepAgain = (cx: Cx, { idp, place }: Found, metadata: string) =>
  cx.store.transact(cx, (tx) => {
    const settings = tx.state(idps, placeId(place)).all[idp.id]?.settings
    const isSame = settings?.kind === "saml" && settings.metadataUrl === samlOf({ idp }).metadataUrl
    if (isSame) keepMetadata(tx, idp.id, metadata)
  })

/** What stands at an address of metadata; nobody on the way there can change it. */
export async function metadataAt(cx: Cx, url: string): Promise<string> {
  const xml = await fetchedMetadata(cx.outside.send, url, {
    refusedError: (message) => refusedError("metadata_url", `can't be read: ${message}`),
    unreachableError: (message) => new Fault("failed_precondition", "idp.unreachable", message),
  })
  return metadataText(xml, metadataReading)
}

const entityChangedError = (entityId: string) =>
  refusedError("metadata_url", `now has metadata of somebody else, ${entityId}`)

/** What is known of a provider before it is changed. */
export type Before = { readonly settings: Saml; readonly signingKeys: readonly string[] }

/**
 * What links hold on to. An address speaks for itself, whatever keys stand there. Of metadata that
 * are sent the keys do: who may set a provider up could else have those who are linked signed in by
 * a key of their own. A key that was there before may go, and none may be added.
 */
export function anchorOf(provider: SamlProvider, url: string, before: Before | undefined): string {
  if (url !== "") return url
  const { entityId, signingKeys } = provider
  const isSubset =
    before?.settings.entityId === entityId &&
    signingKeys.every((key) => before.signingKeys.includes(key))
  if (isSubset) return before.settings.anchor
  return createHash("sha256").update(signingKeys.toSorted().join()).digest("base64url")
}
