import { createHash } from "node:crypto"
import { Fault } from "../../../kernel/fault.ts"
import { type Lru, lru } from "../../../kernel/lru.ts"
import { type Cx, cacheQuery, perInstance } from "../../../store/index.ts"
import { decodeMetadata, downloadMetadata } from "../../../xml/metadata.ts"
import { metadataOf, type OwnedIdp, ownerStreamId, requireUnchanged } from "../commands.ts"
import { invalidFieldError } from "../field.ts"
import { idpMetadata, idps, type Settings } from "../model.ts"
import { upstreamError } from "../upstream/identity.ts"
import {
  metadataReading,
  parseProvider,
  parseUsableProvider,
  type SamlProvider,
} from "./provider.ts"
import { storeMetadata } from "./store-metadata.ts"

const minute = 60_000

/** How long fetched metadata are valid. */
const freshMs = 12 * 60 * minute
/** Minimum interval between attempts for a URL that doesn't answer. */
const retryMs = 10 * minute
/** An unknown key may be new; minimum interval between refreshes that it causes. */
const unknownKeyMs = minute

const attemptsMax = 500
const lastAttempts = perInstance<Lru<number>>(() => lru(attemptsMax))

const parsed = cacheQuery(() => new Map<string, SamlProvider>(), [idpMetadata.stream])
const parsedMax = 500

type Saml = Extract<Settings, { kind: "saml" }>

/** The SAML settings of a provider. Rejects other kinds. */
export function samlOf({ idp: { settings } }: Pick<OwnedIdp, "idp">): Saml {
  if (settings.kind === "saml") return settings
  throw upstreamError("answer_refused", "the identity provider does not use SAML")
}

/**
 * The stored metadata of a provider, without refreshing. Rejects if the provider was reconfigured
 * since it was read.
 */
export async function storedProvider(
  cx: Cx,
  { idp }: Pick<OwnedIdp, "idp">,
): Promise<SamlProvider> {
  requireUnchanged(cx, idp)
  const cache = parsed(cx)
  const before = cache.get(idp.id)
  if (before) return before
  const provider = await parseProvider(metadataOf(cx, idp.id))
  if (cache.size >= parsedMax) cache.clear()
  cache.set(idp.id, provider)
  return provider
}

/**
 * The metadata of a provider, refreshed if they are old and have a URL. If the refresh fails or
 * returns another entity, the stored metadata stay in use and a warning is logged.
 */
export async function currentProvider(cx: Cx, ownedIdp: OwnedIdp): Promise<SamlProvider> {
  const stored = await storedProvider(cx, ownedIdp)
  const { read } = cx.store.state(cx, idpMetadata, ownedIdp.idp.id)
  const now = cx.clock.now()
  const isExpired = now >= (stored.validUntil ?? Number.POSITIVE_INFINITY)
  const isOld = now >= read + freshMs
  const provider = isExpired || isOld ? await refreshMetadata(cx, ownedIdp, retryMs) : stored
  if (now < (provider.validUntil ?? Number.POSITIVE_INFINITY)) return provider
  throw upstreamError("answer_refused", "the metadata of the provider have expired")
}

/** Refreshes the metadata after a signature by an unknown key. */
export const refreshForUnknownKey = (cx: Cx, ownedIdp: OwnedIdp): Promise<SamlProvider> =>
  refreshMetadata(cx, ownedIdp, unknownKeyMs)

async function refreshMetadata(
  cx: Cx,
  ownedIdp: OwnedIdp,
  atMostMs: number,
): Promise<SamlProvider> {
  const { metadataUrl, entityId } = samlOf(ownedIdp)
  const { id } = ownedIdp.idp
  const now = cx.clock.now()
  const tries = lastAttempts(cx)
  const isTooSoon = now < (tries.get(id) ?? Number.NEGATIVE_INFINITY) + atMostMs
  if (metadataUrl === "" || isTooSoon) return storedProvider(cx, ownedIdp)
  tries.set(id, now)
  try {
    const metadata = await fetchMetadata(cx, metadataUrl)
    const provider = await parseUsableProvider(metadata, now)
    if (provider.entityId !== entityId) throw entityChangedError(provider.entityId)
    await storeRefreshed(cx, ownedIdp, metadata)
  } catch (cause) {
    if (!(cause instanceof Fault)) throw cause
    cx.warn(`the metadata of identity provider ${id} could not be refreshed: ${cause.message}`)
  }
  return storedProvider(cx, ownedIdp)
}

/** Stores refreshed metadata, unless the provider was reconfigured in the meantime. */
const storeRefreshed = (cx: Cx, { idp, place: owner }: OwnedIdp, metadata: string) =>
  cx.store.transact(cx, (tx) => {
    const settings = tx.state(idps, ownerStreamId(owner)).all[idp.id]?.settings
    const isSame = settings?.kind === "saml" && settings.metadataUrl === samlOf({ idp }).metadataUrl
    if (isSame) storeMetadata(tx, idp.id, metadata)
  })

/** Fetches metadata over HTTPS, so that they can't be changed in transit. */
export async function fetchMetadata(cx: Cx, url: string): Promise<string> {
  const xml = await downloadMetadata(cx.outside.send, url, {
    refusedError: (message) => invalidFieldError("metadata_url", `can't be fetched: ${message}`),
    unreachableError: (message) => new Fault("failed_precondition", "idp.unreachable", message),
  })
  return decodeMetadata(xml, metadataReading)
}

const entityChangedError = (entityId: string) =>
  invalidFieldError("metadata_url", `now contains the metadata of another entity, ${entityId}`)

/** The settings and signing keys before an update. */
export type PreviousMetadata = { readonly settings: Saml; readonly signingKeys: readonly string[] }

/**
 * The anchor that binds user links to the metadata. For a URL, the URL itself, regardless of keys.
 * For metadata that were sent, the keys: otherwise an administrator could add a key of their own
 * and sign in as linked users. Keys can be removed, but not added.
 */
export function anchorOf(
  provider: SamlProvider,
  url: string,
  before: PreviousMetadata | undefined,
): string {
  if (url !== "") return url
  const { entityId, signingKeys } = provider
  const isSubset =
    before?.settings.entityId === entityId &&
    signingKeys.every((key) => before.signingKeys.includes(key))
  if (isSubset) return before.settings.anchor
  return createHash("sha256").update(signingKeys.toSorted().join()).digest("base64url")
}
