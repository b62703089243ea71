import type { Entry } from "../api/dispatch.ts"
import type { Condition } from "../api/encoding/grpc-health.ts"
import { notFound, respond, respondFault } from "../api/respond.ts"
import { consoleRoutes } from "../console/routes.ts"
import { grpcHost, instanceIds, requireInstance } from "../domain/instance/index.ts"
import { blockedError, isBlocked } from "../domain/quota/index.ts"
import type { Refusal } from "../domain/refusal/index.ts"
import { uiAssets, uiEntry } from "../gen/ui-assets.ts"
import { assetRoutes } from "../http/assets.ts"
import { addressOf, guarded, secured } from "../http/guard.ts"
import { healthAt, healthRoutes } from "../http/health.ts"
import { checkedOrigin, type Origin } from "../http/origin.ts"
import { type Area, answerOf, areaOf, type Route } from "../http/route.ts"
import { routerOf } from "../http/router.ts"
import { noteRoute, routeOf, type Visit } from "../http/visit.ts"
import { type Answering, type Watcher, watchedBy } from "../http/watcher.ts"
import { Fault, traceText } from "../kernel/fault.ts"
import { lazily } from "../kernel/lazy.ts"
import type { Peer } from "../kernel/net/address.ts"
import { plainHost } from "../kernel/net/host.ts"
import { loginRoutes, pagesWith, type ShowPage, showFault, showTrouble } from "../login/index.ts"
import { namingMetadata, oauthPaths, oauthRoutes, publishedHandler } from "../oauth/index.ts"
import { languagesOf, wantsPage } from "../protocol/accept.ts"
import { samlRoutes } from "../saml/index.ts"
import { type Cx, otherHistory } from "../store/index.ts"
import type { Api } from "./api.ts"
import { anonymousCall, callAt } from "./caller.ts"
import { publicFileRoutes, publishedLooks } from "./file/sent.ts"
import { asMeant, namesInstance } from "./instance-host.ts"
import { confirmed, sameAsked } from "./node/lead.ts"
import { refusalLog } from "./refusal-log.ts"
import type { ServerServices } from "./services.ts"
import { setupLinkPage, setupRoutes } from "./setup/routes.ts"
import type { SetupDoor } from "./setup/setup-token.ts"

/** Everything that answers, joined: one function for HTTP, and the operations for gRPC. */
export type App = Answering & {
  /** The last step of every other answer: puts on it what all have. */
  readonly guarded: (request: Request, response: Response) => Response
  /** The management interface, read with the first call of it. */
  readonly api: () => Promise<Pick<Api, "entries">>
  /** The public host that the :authority of a gRPC call means. */
  readonly grpcHost: (authority: string) => string
  /** What the health check of gRPC says. */
  readonly condition: Condition
}

/** An app to which areas can still be added: ahead of the first request. */
export type OpenApp = App & { readonly use: (area: Area) => void }

export type AppParts = {
  readonly services: ServerServices
  readonly setupToken: SetupDoor
  /** Where this process listens, as a proxy on the same machine would reach it. */
  readonly upstream: string
  /** Routes beside those that every server has. */
  readonly areas?: readonly Area[]
  /** What sees requests and responses, the innermost first. */
  readonly watchers?: readonly Watcher[]
  /** Wraps each operation that native gRPC calls. */
  readonly called?: (entry: Entry) => Entry
}

/**
 * Joins the modules. The book of the management interface is large, and a server that signs people
 * in may never need it: it is read when somebody calls, and the check has read it before.
 */
export function appOf({ areas = [], watchers = [], called, ...parts }: AppParts): OpenApp {
  const { services } = parts
  const show = pagesWith(uiEntry)
  const api = lazily(
    async (): Promise<Api> =>
      (await import("./api.ts")).apiOf(
        services,
        all.flatMap(({ reserved }) => reserved),
      ),
  )
  const found = watchers.length > 0 ? noteRoute : undefined
  const published = publishedHandler(
    (host) => callAt(services, host),
    (host, headers) => secured(services, host, headers),
    [publishedLooks],
    found,
  )
  const all = [...areas, ...ownAreas(parts, show)]
  const answer = answeringBy(parts, { api, show, published, areas: () => all })
  const joined: Answering = {
    answer,
    published: (request) =>
      isFollowing(services.store) || namesInstance(request) ? undefined : published(request),
  }
  return {
    ...watchers.reduce(watchedBy, joined),
    api: async () => {
      const { entries } = await api()
      return { entries: called ? entries.map(called) : entries }
    },
    guarded: (request, response) => guarded(services, request, response),
    grpcHost: (authority) => grpcHost(services.store, authority),
    condition: { isReady: () => services.notReady() === undefined, clock: services.clock },
    use: (area) => void all.unshift(area),
  }
}

/** What sees requests where somebody wants that: what counts, then what traces. */
export function watching(
  { meters, tracing, isProxy }: ServerServices,
  within: readonly Watcher[] = [],
): Pick<AppParts, "watchers" | "called"> {
  const counting = meters ? [meters.watcher] : []
  if (!tracing) return { watchers: [...within, ...counting] }
  return {
    watchers: [...within, ...counting, tracing.watcher(isProxy)],
    called: (entry) => tracing.called(entry, isProxy),
  }
}

type OwnParts = Pick<AppParts, "services" | "setupToken" | "upstream">

/** The areas that every server has; the last one has the paths that are nobody else's. */
function ownAreas({ services, setupToken, upstream }: OwnParts, show: ShowPage): readonly Area[] {
  const { log, clock, meters } = services
  const logged = refusalLog(log, clock)
  const refused = (refusal: Refusal, group: string) => {
    logged(refusal)
    meters?.refused(refusal, group)
  }
  const described = async ({ request, url }: Visit) =>
    (await (await import("./openapi.ts")).openApiAnswer(request, url.pathname)) ?? notFound()
  return [
    healthRoutes({ notReady: services.notReady, alive }),
    assetRoutes(uiAssets, notFound),
    areaOf("openapi", {
      "/openapi": { anywhere: described },
      "/openapi/*": { anywhere: described },
    }),
    publicFileRoutes(),
    oauthRoutes({ show, refused, issued: meters?.issued }),
    samlRoutes({ show, refused }),
    loginRoutes({ show, hrefs }),
    consoleRoutes(uiEntry, upstream),
    setupRoutes(services, setupToken, show),
    areaOf("rest", {
      "/admin/*": open,
      "/auth/*": open,
      "/management/*": open,
      "/resources/*": open,
      "/system/*": open,
      "/core.*": { ...open, group: "connect" },
      "/*": { ...open, group: "other" },
    }),
  ]
}

/** Below it operations have paths. */
const open = { isOpen: true }

const alive = () => respond("{}", {})

type Handling = {
  readonly api: () => Promise<Api>
  readonly show: ShowPage
  readonly published: (request: Request) => Response | undefined
  readonly areas: () => readonly Area[]
}

/** Answers what is not answered at once. */
function answeringBy(parts: OwnParts, handling: Handling): Answering["answer"] {
  const { services } = parts
  const origins = new WeakMap<Visit, Meant>()
  const failure = (visit: Visit, cause: unknown) => {
    const { request, peer } = visit
    const meant = origins.get(visit) ?? meantBy(services, request, peer)
    return failed(services, handling.show, { ...meant, cause })
  }
  const router = routerOf({
    areas: handling.areas,
    serve: (visit, route) =>
      serve(parts, handling, { visit, route, meant: (meant) => void origins.set(visit, meant) }),
    failed: failure,
  })
  return async (request, peer) => {
    const url = addressOf(request)
    if (url instanceof Fault) {
      // Checks of load balancers are HTTP/1.0 without a Host: no address then, only its path.
      const health = request.headers.has("host")
        ? undefined
        : healthAt({ notReady: services.notReady, alive }, request, request.url)
      return health ?? respondFault(url, { connection: "close" })
    }
    const visit = { request, peer, url }
    const answered = await router(visit)
    try {
      // Whoever is told it may ask another process next.
      await services.store.pending()
      return answered
    } catch (cause) {
      return failure(visit, cause)
    }
  }
}

/** A request as it is meant, and where it comes from. */
type Meant = { readonly request: Request; readonly origin: Origin }

function meantBy(services: ServerServices, asked: Request, peer: Peer): Meant {
  const request = asMeant(services, asked, peer)
  if (request !== asked) sameAsked(asked, request)
  return { request, origin: checkedOrigin(services, request, { peer, route: routeOf(asked) }) }
}

type Serving = {
  readonly visit: Visit
  readonly route: Route
  /** Told how the request is meant. */
  readonly meant: (meant: Meant) => void
}

/** Whether others write what this process knows only once it has looked, or don't see yet. */
function isFollowing(store: ServerServices["store"]): boolean {
  const { node, worker } = store
  if (!worker) return node !== undefined || store.pending() !== undefined
  // That is a moment's work here, but for the moment in which nobody reads.
  if (worker.held()) return true
  worker.renew()
  return false
}

/** Answers a request whose route is known: finds the instance that it is for, and what says it. */
async function serve(
  parts: OwnParts,
  { api, show, published }: Handling,
  { visit, route, meant }: Serving,
): Promise<Response> {
  const { services } = parts
  const { request: asked, peer, url } = visit
  const { node, worker } = services.store
  const unseen = node || worker ? await unseenBy(services, asked) : undefined
  // What it is meant for is looked up, which others may have changed.
  const asking = meantBy(services, asked, peer)
  meant(asking)
  const { request, origin } = asking
  if (unseen) return unwritten(request, unseen.cause, published)
  const cx = anonymousCall(services, request.headers, origin)
  const moved = cx && withoutDot(cx, request, url)
  if (moved) return moved
  const isShut = cx !== undefined && isBlocked(cx)
  const page = cx
    ? isShut
      ? undefined
      : await answerOf(route, { request, cx, url })
    : await withoutInstance(parts, show, { visit: { request, peer, url }, origin, route })
  const answered = page ?? (await (await api()).answer(request, origin))
  // What the API was called by, if it was, is the route of the request as it came, too.
  const called = request === asked ? undefined : routeOf(request)
  if (called) noteRoute(asked, called)
  if (answered) return cx ? namingMetadata(cx, url.pathname, answered) : answered
  return (isShut ? shut : missing)(show, request, cx)
}

/**
 * What may be answered without what others wrote, which can't be had; throws why not else. What
 * everybody gets the same of is good for minutes anyway: it is told without the log, too.
 */
function unwritten(request: Request, cause: unknown, published: Handling["published"]): Response {
  if (cause instanceof Fault && cause.id === otherHistory) throw cause
  const known = namesInstance(request) ? undefined : published(request)
  if (known) return known
  throw cause
}

type Homeless = { readonly visit: Visit; readonly origin: Origin; readonly route: Route }

/** What a host says that is no instance's. */
async function withoutInstance(
  parts: OwnParts,
  show: ShowPage,
  { visit, origin, route }: Homeless,
): Promise<Response | undefined> {
  if (!parts.setupToken.isOpen()) return elsewhere(parts, show, { request: visit.request, origin })
  const { services } = parts
  const page = await route.unowned?.(visit, origin)
  return page ?? setupLinkPage(services, show, { ...visit, origin })
}

/**
 * Sends a page at a host with a final dot to the same host without it, which alone has the cookies
 * and passkeys of a browser.
 */
function withoutDot(cx: Cx, request: Request, { host, pathname, search }: URL) {
  const isDotted = host.replace(/:\d+$/, "").endsWith(".")
  if (!isDotted || request.method !== "GET" || !wantsPage(request)) return undefined
  const { protocol } = new URL(requireInstance(cx).publicUrl)
  const location = `${protocol}//${plainHost(host, protocol)}${pathname}${search}`
  return new Response(null, { status: 308, headers: { location, "cache-control": "no-store" } })
}

/** Waits until what others wrote is here; answers why that can't be. */
async function unseenBy({ store }: ServerServices, request: Request) {
  try {
    await confirmed(store, request)
    return undefined
  } catch (cause) {
    return { cause }
  }
}

type Failure = Meant & { readonly cause: unknown }

/** A page or an endpoint that failed: the log gets the cause, the caller an id that finds it. */
async function failed(
  services: ServerServices,
  show: ShowPage,
  { request, origin, cause }: Failure,
): Promise<Response> {
  const { requestId } = origin
  const fault = services.store.faultOf(cause)
  if (fault && !wantsPage(request)) return respondFault(fault, {})
  services.log.error("{method} {path} failed ({requestId}): {cause}", {
    method: request.method,
    path: new URL(request.url).pathname,
    requestId,
    cause: traceText(cause),
  })
  const cx = anonymousCall(services, request.headers, origin)
  if (cx && wantsPage(request)) {
    return fault
      ? showFault(show, cx, fault)
      : showTrouble(show, cx, { problem: "unexpected", status: 500 })
  }
  const said = `something went wrong here; the log says more about request ${requestId}`
  return respondFault(new Fault("internal", "internal", said), {})
}

const hrefs = {
  logout: oauthPaths.endSession,
  account: "/ui/account",
  console: "/ui/console/",
}

/** A browser that asked for a host we don't serve sees what to mend. */
async function elsewhere(
  { services, upstream }: OwnParts,
  show: ShowPage,
  { request, origin }: { readonly request: Request; readonly origin: Origin },
): Promise<Response | undefined> {
  const [instance] = instanceIds(services.store)
  if (instance === undefined || !wantsPage(request)) return undefined
  const languages = languagesOf(request.headers.get("accept-language"))
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

/** Whoever runs the service has blocked the instance: its pages and endpoints say no more. */
async function shut(show: ShowPage, request: Request, cx: Cx | undefined): Promise<Response> {
  if (!cx || !wantsPage(request)) return respondFault(blockedError(), {})
  return showTrouble(show, cx, { problem: "blocked", status: 429 })
}

async function missing(show: ShowPage, request: Request, cx: Cx | undefined): Promise<Response> {
  if (!cx || !wantsPage(request)) return notFound()
  return showTrouble(show, cx, { problem: "not_found", status: 404 })
}
