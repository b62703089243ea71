import { Fault, fieldError } from "../../kernel/fault.ts"
import { plainHost, plainOrigin } from "../../kernel/net/host.ts"
import { type ClaimChange, type Cx, cached, type Decision } from "../../store/index.ts"
import { clientClaim, instance } from "../instance/index.ts"
import { type ApiApp, type ApiConfig, app, isGone } from "./model.ts"

/**
 * A URI stands for one API of the instance: tokens for it are for nothing else. Clients that go by
 * the address of their document take theirs, too: who looked before the other one came is refused.
 */
const resourceClaim = "resource"

const urisMax = 20
const lengthMax = 500

/**
 * RFC 8707 §2: absolute URIs without a fragment. By https, or by http on this machine; never at our
 * own address, which tokens for ourselves are for. One spelling only, as they are compared; those
 * of `before` may have others.
 */
export function checkResources(
  cx: Decision,
  uris: readonly string[],
  before: readonly string[] = [],
): void {
  if (uris.length > urisMax) throw resourceError(`must not be more than ${urisMax}`)
  const { publicUrl } = cx.state(instance, cx.instance)
  for (const uri of uris) {
    const url = URL.parse(uri)
    const isWeb = url?.protocol === "https:" || url?.hostname === "localhost"
    const isPlain = /^https?:\/\/[\x21-\x7e]+$/.test(uri) && !uri.includes("#")
    if (!url || !isWeb || !isPlain || uri.length > lengthMax) {
      throw resourceError("must be URIs such as https://api.example.com/mcp, without a fragment")
    }
    if (cx.holder(clientClaim, uri)) throw resourceError("must not be the id of a client")
    if (plainHost(url.host, url.protocol) === new URL(publicUrl).host)
      throw resourceError("must not be this server's own")
    if (before.includes(uri)) continue
    if (!isUsual(uri, url)) {
      const usual = `${plainOrigin(uri) ?? ""}${url.pathname}${url.search}`
      throw resourceError(`must be written as ${usual}`)
    }
    const same = withOrWithoutPath(uri)
    const isOwn = uris.includes(same) || before.includes(same)
    if (same !== uri && !isOwn && cx.holder(resourceClaim, same)) throw takenError()
  }
}

/**
 * Whether a URI is in its normal form (RFC 3986 §6.2). APIs may compare the audience of a token in
 * that form, so that another spelling would stand for the same API.
 */
function isUsual(uri: string, url: URL): boolean {
  const isPlainHost = plainHost(url.host, url.protocol) === url.host
  return isPlainHost && (uri === url.href || withOrWithoutPath(uri) === url.href)
}

/** §6.2.3: an empty path is "/", and some libraries write it so. The URI itself with any other. */
const withOrWithoutPath = (uri: string): string => {
  if (/^https?:\/\/[^/?]+$/.test(uri)) return `${uri}/`
  return /^https?:\/\/[^/?]+\/$/.test(uri) ? uri.slice(0, -1) : uri
}

/** What takes the URIs that are new, and lets go of those that are no longer there. */
export function resourceClaims(
  before: readonly string[],
  after: readonly string[],
): readonly ClaimChange[] {
  const gone = before.filter((uri) => !after.includes(uri))
  const fresh = after.filter((uri) => !before.includes(uri))
  return [
    ...gone.map((key) => ({ release: resourceClaim, key })),
    ...fresh.map((key) => ({ take: resourceClaim, key, taken })),
  ]
}

const taken = {
  id: "app.resource_taken",
  message: "another API, or a client, goes by this URI; it stands for one of them",
}

const takenError = () => new Fault("already_exists", taken.id, taken.message)

/** What keeps the address of a client from standing for an API as well. */
export const takeAddress = (key: string, refused: typeof taken): ClaimChange => ({
  take: resourceClaim,
  key,
  taken: refused,
})

export const releaseAddress = (key: string): ClaimChange => ({ release: resourceClaim, key })

/** The URIs of an API. */
export const resourcesOf = ({ resources = [] }: ApiConfig): readonly string[] => resources

/** The active API that goes by a URI; undefined for what is none's. */
export function apiAt(cx: Cx, uri: string): ApiApp | undefined {
  if (!uri.includes("://") || uri.length > lengthMax) return undefined
  const known = found(cx)
  if (known.has(uri)) return known.get(uri)
  if (known.size >= foundMax) known.clear()
  const { instance, store, clock } = cx
  const heldBy = (key: string) => store.log.holder(instance, resourceClaim, key, clock.now())
  // RFC 3986 §6.2.3: an empty path is "/", and some libraries write it so.
  const holder =
    heldBy(uri) ?? (/^https?:\/\/[^/]+\/$/.test(uri) ? heldBy(uri.slice(0, -1)) : undefined)
  const state = cx.store.state(cx, app, holder?.stream === app.stream ? holder.id : "")
  const isThere = !isGone(state) && state.kind === "api" && state.status === "active"
  const api = isThere ? state : undefined
  known.set(uri, api)
  return api
}

/** Good until an application changes; what is not there is remembered like what is. */
const found = cached(() => new Map<string, ApiApp | undefined>(), [app.stream])
const foundMax = 10_000

const resourceError = (wanted: string) => fieldError("app.resources_invalid", "resources", wanted)
