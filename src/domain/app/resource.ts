import { Fault, fieldError } from "../../kernel/fault.ts"
import { normalizeHost, normalizeOrigin } from "../../kernel/net/host.ts"
import { type ClaimChange, type Cx, cacheQuery, type DecisionContext } from "../../store/index.ts"
import { clientClaim, instance } from "../instance/index.ts"
import { type ApiApp, type ApiConfig, app, isMissing } from "./model.ts"

/**
 * Each resource URI belongs to one API of the instance, so that tokens for it are valid nowhere
 * else. The URLs of client metadata documents share this unique key: an API can't use the URL of a
 * client, nor a client that of an API.
 */
const resourceClaim = "resource"

const urisMax = 20
const uriLengthMax = 500

/**
 * RFC 8707 §2: absolute URIs without a fragment. They must use https, or http on this machine, and
 * must not be addresses of this server, whose tokens have that audience. They are compared as
 * strings, so they must be normalized; URIs in `before` are exempt.
 */
export function validateResources(
  cx: DecisionContext,
  uris: readonly string[],
  before: readonly string[] = [],
): void {
  if (uris.length > urisMax) throw resourceError(`must contain at most ${urisMax} URIs`)
  const { publicUrl } = cx.state(instance, cx.instance)
  for (const uri of uris) {
    const url = URL.parse(uri)
    const isWeb = url?.protocol === "https:" || url?.hostname === "localhost"
    const isPlain = /^https?:\/\/[\x21-\x7e]+$/.test(uri) && !uri.includes("#")
    if (!url || !isWeb || !isPlain || uri.length > uriLengthMax) {
      throw resourceError("must be URIs such as https://api.example.com/mcp, without a fragment")
    }
    if (cx.holder(clientClaim, uri)) throw resourceError("must not be a client ID")
    if (normalizeHost(url.host, url.protocol) === new URL(publicUrl).host)
      throw resourceError("must not be a URL of this server")
    if (before.includes(uri)) continue
    if (!isNormalized(uri, url)) {
      const normalized = `${normalizeOrigin(uri) ?? ""}${url.pathname}${url.search}`
      throw resourceError(`must be normalized: ${normalized}`)
    }
    const same = alternativeSpelling(uri)
    const isOwn = uris.includes(same) || before.includes(same)
    if (same !== uri && !isOwn && cx.holder(resourceClaim, same)) throw resourceTakenError()
  }
}

/**
 * Whether a URI is normalized (RFC 3986 §6.2). APIs may normalize the audience of a token, so two
 * spellings would identify the same API.
 */
function isNormalized(uri: string, url: URL): boolean {
  const isPlainHost = normalizeHost(url.host, url.protocol) === url.host
  return isPlainHost && (uri === url.href || alternativeSpelling(uri) === url.href)
}

/**
 * §6.2.3: an empty path equals "/", and some libraries add the slash. Other URIs are returned
 * unchanged.
 */
const alternativeSpelling = (uri: string): string => {
  if (/^https?:\/\/[^/?]+$/.test(uri)) return `${uri}/`
  return /^https?:\/\/[^/?]+\/$/.test(uri) ? uri.slice(0, -1) : uri
}

/** The unique keys to take for new URIs and to release for removed ones. */
export function resourceClaims(
  before: readonly string[],
  after: readonly string[],
): readonly ClaimChange[] {
  const removed = before.filter((uri) => !after.includes(uri))
  const fresh = after.filter((uri) => !before.includes(uri))
  return [
    ...removed.map((key) => ({ release: resourceClaim, key })),
    ...fresh.map((key) => ({ take: resourceClaim, key, taken: resourceTaken })),
  ]
}

const resourceTaken = {
  id: "app.resource_taken",
  message: "another API or client already uses this URI",
}

const resourceTakenError = () =>
  new Fault("already_exists", resourceTaken.id, resourceTaken.message)

/** Reserves the URL of a client, so that no API can use it as a resource. */
export const takeAddress = (key: string, error: typeof resourceTaken): ClaimChange => ({
  take: resourceClaim,
  key,
  taken: error,
})

export const releaseAddress = (key: string): ClaimChange => ({ release: resourceClaim, key })

/** The resource URIs of an API. */
export const resourcesOf = ({ resources = [] }: ApiConfig): readonly string[] => resources

/** The active API with this resource URI; undefined if there is none. */
export function findApiByResource(cx: Cx, uri: string): ApiApp | undefined {
  if (!uri.includes("://") || uri.length > uriLengthMax) return undefined
  const cache = resourceCache(cx)
  if (cache.has(uri)) return cache.get(uri)
  if (cache.size >= resourceCacheMax) cache.clear()
  const { instance, store, clock } = cx
  const heldBy = (key: string) => store.log.holder(instance, resourceClaim, key, clock.now())
  // RFC 3986 §6.2.3: an empty path equals "/", and some libraries add the slash.
  const holder =
    heldBy(uri) ?? (/^https?:\/\/[^/]+\/$/.test(uri) ? heldBy(uri.slice(0, -1)) : undefined)
  const state = cx.store.state(cx, app, holder?.stream === app.stream ? holder.id : "")
  const isThere = !isMissing(state) && state.kind === "api" && state.status === "active"
  const api = isThere ? state : undefined
  cache.set(uri, api)
  return api
}

/** Cleared when an application changes. Unknown URIs are cached, too. */
const resourceCache = cacheQuery(() => new Map<string, ApiApp | undefined>(), [app.stream])
const resourceCacheMax = 10_000

const resourceError = (requirement: string) =>
  fieldError("app.resources_invalid", "resources", requirement)
