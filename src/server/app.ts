import type { Entry } from "../api/dispatch.ts"
import type { HealthSource } from "../api/encoding/grpc-health.ts"
import { notFoundResponse, respond, respondFault } from "../api/respond.ts"
import { consoleRoutes } from "../console/routes.ts"
import { grpcHost, instanceIds, requireInstance } from "../domain/instance/index.ts"
import { blockedError, isBlocked } from "../domain/quota/index.ts"
import type { Refusal } from "../domain/refusal/index.ts"
import { uiAssets, uiEntry } from "../gen/ui-assets.ts"
import { assetRoutes } from "../http/assets.ts"
import { parseUrl, setSecurityHeaders, withCommonHeaders } from "../http/guard.ts"
import { healthResponse, healthRoutes } from "../http/health.ts"
import { originWithSelfCheck, type RequestOrigin } from "../http/origin.ts"
import { type Area, answerRoute, createArea, type Route } from "../http/route.ts"
import { createRouter } from "../http/router.ts"
import { findRoute, setRoute, type Visit } from "../http/visit.ts"
import { type RequestHandler, type Watcher, withWatcher } from "../http/watcher.ts"
import { Fault, stackText } from "../kernel/fault.ts"
import { loadOnce } from "../kernel/lazy.ts"
import type { Peer } from "../kernel/net/address.ts"
import { normalizeHost } from "../kernel/net/host.ts"
import { createShowPage, loginRoutes, type ShowPage, showError, showFault } from "../login/index.ts"
import { oauthPaths, oauthRoutes, publicDocumentHandler, withMetadataLink } from "../oauth/index.ts"
import { parseLanguages, prefersHtml } from "../protocol/accept.ts"
import { samlRoutes } from "../saml/index.ts"
import { type Cx, historyDiffersId } from "../store/index.ts"
import type { Api } from "./api.ts"
import { createAnonymousCall, createSystemCall } from "./caller.ts"
import { cachedBrandingFiles, publicFileRoutes } from "./file/uploaded.ts"
import { namesInstance, resolveInstanceHost } from "./instance-host.ts"
import { markSameRequest, waitForCurrentLog } from "./node/leadership.ts"
import { createRejectionLog } from "./rejection-log.ts"
import type { ServerServices } from "./services.ts"
import { setupLinkPage, setupRoutes } from "./setup/routes.ts"
import type { SetupAccess } from "./setup/setup-token.ts"

/** The whole server: one function for HTTP requests and the operations for gRPC. */
export type App = RequestHandler & {
  /** Adds the common headers to responses that are not created here. */
  readonly guarded: (request: Request, response: Response) => Response
  /** The management API, loaded on first use. */
  readonly api: () => Promise<Pick<Api, "entries">>
  /** The public host of the :authority of a gRPC call. */
  readonly grpcHost: (authority: string) => string
  /** The source of the gRPC health check. */
  readonly condition: HealthSource
}

/** An app to which areas can be added before the first request. */
export type OpenApp = App & { readonly addArea: (area: Area) => void }

export type AppParts = {
  readonly services: ServerServices
  readonly setupToken: SetupAccess
  /** The URL at which a proxy on the same machine reaches this process. */
  readonly upstream: string
  /** Additional routes. */
  readonly areas?: readonly Area[]
  /** Functions that observe requests and responses, the innermost first. */
  readonly watchers?: readonly Watcher[]
  /** Wraps each operation that native gRPC calls. */
  readonly wrapOperation?: (entry: Entry) => Entry
}

/**
 * Combines the modules. The management API is large, and a server that only signs users in may
 * never need it, so it is loaded on the first call; the check has already validated it.
 */
export function createApp({
  areas = [],
  watchers = [],
  wrapOperation,
  ...parts
}: AppParts): OpenApp {
  const { services } = parts
  const show = createShowPage(uiEntry)
  const api = loadOnce(
    async (): Promise<Api> =>
      (await import("./api.ts")).createApi(
        services,
        all.flatMap(({ reserved }) => reserved),
      ),
  )
  const found = watchers.length > 0 ? setRoute : undefined
  const published = publicDocumentHandler(
    (host) => createSystemCall(services, host),
    (host, headers) => setSecurityHeaders(services, host, headers),
    [cachedBrandingFiles],
    found,
  )
  const all = [...areas, ...builtInAreas(parts, show)]
  const answer = createHandler(parts, { api, show, published, areas: () => all })
  const joined: RequestHandler = {
    answer,
    publishedDocument: (request) =>
      hasOtherWriters(services.store) || namesInstance(request) ? undefined : published(request),
  }
  return {
    ...watchers.reduce(withWatcher, joined),
    api: async () => {
      const { entries } = await api()
      return { entries: wrapOperation ? entries.map(wrapOperation) : entries }
    },
    guarded: (request, response) => withCommonHeaders(services, request, response),
    grpcHost: (authority) => grpcHost(services.store, authority),
    condition: { isReady: () => services.notReady() === undefined, clock: services.clock },
    addArea: (area) => void all.unshift(area),
  }
}

/** The watchers for the enabled features: metrics, then traces. */
export function watchersOf(
  { meters, tracing, isProxy }: ServerServices,
  within: readonly Watcher[] = [],
): Pick<AppParts, "watchers" | "wrapOperation"> {
  const counting = meters ? [meters.watcher] : []
  if (!tracing) return { watchers: [...within, ...counting] }
  return {
    watchers: [...within, ...counting, tracing.watcher(isProxy)],
    wrapOperation: (entry) => tracing.wrapOperation(entry, isProxy),
  }
}

type OwnParts = Pick<AppParts, "services" | "setupToken" | "upstream">

/** The areas of every server; the last one handles all remaining paths. */
function builtInAreas(
  { services, setupToken, upstream }: OwnParts,
  show: ShowPage,
): readonly Area[] {
  const { log, clock, meters } = services
  const logged = createRejectionLog(log, clock)
  const refused = (refusal: Refusal, group: string) => {
    logged(refusal)
    meters?.refused(refusal, group)
  }
  const described = async ({ request, url }: Visit) =>
    (await (await import("./openapi.ts")).openApiResponse(request, url.pathname)) ??
    notFoundResponse()
  return [
    healthRoutes({ notReady: services.notReady, alive: aliveResponse }),
    assetRoutes(uiAssets, notFoundResponse),
    createArea("openapi", {
      "/openapi": { anyHost: described },
      "/openapi/*": { anyHost: described },
    }),
    publicFileRoutes(),
    oauthRoutes({ show, onRejected: refused, onIssued: meters?.issued }),
    samlRoutes({ show, onRejected: refused }),
    loginRoutes({ show, hrefs }),
    consoleRoutes(uiEntry, upstream),
    setupRoutes(services, setupToken, show),
    createArea("rest", {
      "/admin/*": reservedPath,
      "/auth/*": reservedPath,
      "/management/*": reservedPath,
      "/resources/*": reservedPath,
      "/system/*": reservedPath,
      "/core.*": { ...reservedPath, group: "connect" },
      "/*": { ...reservedPath, group: "other" },
    }),
  ]
}

/** Operations have paths below this area. */
const reservedPath = { isOpen: true }

const aliveResponse = () => respond("{}", {})

type HandlerParts = {
  readonly api: () => Promise<Api>
  readonly show: ShowPage
  readonly published: (request: Request) => Response | undefined
  readonly areas: () => readonly Area[]
}

/** Handles requests that are not answered immediately. */
function createHandler(parts: OwnParts, handling: HandlerParts): RequestHandler["answer"] {
  const { services } = parts
  const origins = new WeakMap<Visit, ResolvedRequest>()
  const failure = (visit: Visit, cause: unknown) => {
    const { request, peer } = visit
    const onResolved = origins.get(visit) ?? resolveRequest(services, request, peer)
    return respondInternalError(services, handling.show, { ...onResolved, cause })
  }
  const router = createRouter({
    areas: handling.areas,
    serve: (visit, route) =>
      serve(parts, handling, {
        visit,
        route,
        onResolved: (onResolved) => void origins.set(visit, onResolved),
      }),
    failed: failure,
  })
  return async (request, peer) => {
    const url = parseUrl(request)
    if (url instanceof Fault) {
      // Health checks of load balancers can be HTTP/1.0 requests without a Host header, so there is
      // only a path.
      const health = request.headers.has("host")
        ? undefined
        : healthResponse(
            { notReady: services.notReady, alive: aliveResponse },
            request,
            request.url,
          )
      return health ?? respondFault(url, { connection: "close" })
    }
    const visit = { request, peer, url }
    const answered = await router(visit)
    try {
      // The next request of the client may go to another process.
      await services.store.pending()
      return answered
    } catch (cause) {
      return failure(visit, cause)
    }
  }
}

/** A request with trusted proxy headers applied, and its origin. */
type ResolvedRequest = { readonly request: Request; readonly origin: RequestOrigin }

function resolveRequest(services: ServerServices, requested: Request, peer: Peer): ResolvedRequest {
  const request = resolveInstanceHost(services, requested, peer)
  if (request !== requested) markSameRequest(requested, request)
  return {
    request,
    origin: originWithSelfCheck(services, request, { peer, route: findRoute(requested) }),
  }
}

type ServeInput = {
  readonly visit: Visit
  readonly route: Route
  /** Called with the resolved request. */
  readonly onResolved: (onResolved: ResolvedRequest) => void
}

/** Whether other processes write data that this process must first read. */
function hasOtherWriters(store: ServerServices["store"]): boolean {
  const { node, worker } = store
  if (!worker) return node !== undefined || store.pending() !== undefined
  // The read is fast, except while the writer is blocked.
  if (worker.held()) return true
  worker.renew()
  return false
}

/** Handles a request with a known route: finds its instance and runs its handler. */
async function serve(
  parts: OwnParts,
  { api, show, published }: HandlerParts,
  { visit, route, onResolved }: ServeInput,
): Promise<Response> {
  const { services } = parts
  const { request: requested, peer, url } = visit
  const { node, worker } = services.store
  const unseen = node || worker ? await waitForLog(services, requested) : undefined
  // The domain may belong to another instance after changes of others.
  const asking = resolveRequest(services, requested, peer)
  onResolved(asking)
  const { request, origin } = asking
  if (unseen) return respondWithoutLog(request, unseen.cause, published)
  const cx = createAnonymousCall(services, request.headers, origin)
  const moved = cx && redirectWithoutDot(cx, request, url)
  if (moved) return moved
  const isShut = cx !== undefined && isBlocked(cx)
  const page = cx
    ? isShut
      ? undefined
      : await answerRoute(route, { request, cx, url })
    : await respondUnknownHost(parts, show, { visit: { request, peer, url }, origin, route })
  const answered = page ?? (await (await api()).handle(request, origin))
  // A path of the API is the same in the request as received.
  const wrapOperation = request === requested ? undefined : findRoute(request)
  if (wrapOperation) setRoute(requested, wrapOperation)
  if (answered) return cx ? withMetadataLink(cx, url.pathname, answered) : answered
  return (isShut ? respondBlocked : respondNotFound)(show, request, cx)
}

/**
 * The response if changes of other processes can't be read; throws otherwise. Public files are
 * cached for minutes anyway, so they are served without the log.
 */
function respondWithoutLog(
  request: Request,
  cause: unknown,
  published: HandlerParts["published"],
): Response {
  if (cause instanceof Fault && cause.id === historyDiffersId) throw cause
  const known = namesInstance(request) ? undefined : published(request)
  if (known) return known
  throw cause
}

type UnknownHostInput = {
  readonly visit: Visit
  readonly origin: RequestOrigin
  readonly route: Route
}

/** The response for a host without an instance. */
async function respondUnknownHost(
  parts: OwnParts,
  show: ShowPage,
  { visit, origin, route }: UnknownHostInput,
): Promise<Response | undefined> {
  if (!parts.setupToken.isOpen())
    return renderUnknownHost(parts, show, { request: visit.request, origin })
  const { services } = parts
  const page = await route.beforeSetup?.(visit, origin)
  return page ?? setupLinkPage(services, show, { ...visit, origin })
}

/**
 * Redirects a page at a host with a trailing dot to the host without it, for which the browser has
 * its cookies and passkeys.
 */
function redirectWithoutDot(cx: Cx, request: Request, { host, pathname, search }: URL) {
  const isDotted = host.replace(/:\d+$/, "").endsWith(".")
  if (!isDotted || request.method !== "GET" || !prefersHtml(request)) return undefined
  const { protocol } = new URL(requireInstance(cx).publicUrl)
  const location = `${protocol}//${normalizeHost(host, protocol)}${pathname}${search}`
  return new Response(null, { status: 308, headers: { location, "cache-control": "no-store" } })
}

/** Waits for the changes of other processes; returns the error if that is not possible. */
async function waitForLog({ store }: ServerServices, request: Request) {
  try {
    await waitForCurrentLog(store, request)
    return undefined
  } catch (cause) {
    return { cause }
  }
}

type FailedRequest = ResolvedRequest & { readonly cause: unknown }

/** The response for an internal error: the cause is logged, and the client receives an ID. */
async function respondInternalError(
  services: ServerServices,
  show: ShowPage,
  { request, origin, cause }: FailedRequest,
): Promise<Response> {
  const { requestId } = origin
  const fault = services.store.faultOf(cause)
  if (fault && !prefersHtml(request)) return respondFault(fault, {})
  services.log.error("{method} {path} failed ({requestId}): {cause}", {
    method: request.method,
    path: new URL(request.url).pathname,
    requestId,
    cause: stackText(cause),
  })
  const cx = createAnonymousCall(services, request.headers, origin)
  if (cx && prefersHtml(request)) {
    return fault
      ? showFault(show, cx, fault)
      : showError(show, cx, { problem: "unexpected", status: 500 })
  }
  const message = `an internal error occurred; search the log for request ${requestId}`
  return respondFault(new Fault("internal", "internal", message), {})
}

const hrefs = {
  logout: oauthPaths.endSession,
  account: "/ui/account",
  console: "/ui/console/",
}

/** A page that explains how to correct the address of a host without an instance. */
async function renderUnknownHost(
  { services, upstream }: OwnParts,
  show: ShowPage,
  { request, origin }: { readonly request: Request; readonly origin: RequestOrigin },
): Promise<Response | undefined> {
  const [instance] = instanceIds(services.store)
  if (instance === undefined || !prefersHtml(request)) return undefined
  const languages = parseLanguages(request.headers.get("accept-language"))
  const cx = { ...services.call(instance, "host"), requestId: origin.requestId, languages }
  const page = {
    received: origin.host,
    expected: requireInstance(cx).publicUrl,
    upstream: upstream.replace(/^https?:\/\//, ""),
    forwardedHost: request.headers.get("x-forwarded-host") ?? undefined,
    trustedProxy: services.isProxy(origin.peer),
  }
  return show(cx, (ui, shared) => ui.HostPage({ ...shared, ...page }), { status: 421 })
}

/** The response of a blocked instance. */
async function respondBlocked(
  show: ShowPage,
  request: Request,
  cx: Cx | undefined,
): Promise<Response> {
  if (!cx || !prefersHtml(request)) return respondFault(blockedError(), {})
  return showError(show, cx, { problem: "blocked", status: 429 })
}

async function respondNotFound(
  show: ShowPage,
  request: Request,
  cx: Cx | undefined,
): Promise<Response> {
  if (!cx || !prefersHtml(request)) return notFoundResponse()
  return showError(show, cx, { problem: "not_found", status: 404 })
}
