import type { Logger } from "@logtape/logtape"
import type { Condition } from "../api/encoding/grpc-health.ts"
import { notFound, respondFault } from "../api/respond.ts"
import { grpcHost, instanceIds, requireInstance } from "../domain/instance/index.ts"
import { blockedError, isBlocked } from "../domain/quota/index.ts"
import type { Refusal } from "../domain/refusal/index.ts"
import { warmPasswords } from "../domain/user/index.ts"
import { uiEntry } from "../gen/ui-assets.ts"
import { Fault, traceText } from "../kernel/fault.ts"
import { lazily } from "../kernel/lazy.ts"
import type { Peer } from "../kernel/net/address.ts"
import { plainHost } from "../kernel/net/host.ts"
import { languagesOf, wantsPage } from "../kernel/text/accept.ts"
import {
  loginHandler,
  loginPaths,
  pagesWith,
  type ShowPage,
  showFault,
  showTrouble,
} from "../login/index.ts"
import { namingMetadata, oauthHandler, oauthPaths, publishedHandler } from "../oauth/index.ts"
import { answering, onward, samlHandler } from "../saml/index.ts"
import { type Cx, otherHistory } from "../store/index.ts"
import type { Api } from "./api.ts"
import { anonymousCall, callAt, type Origin } from "./caller.ts"
import { consoleHandler } from "./console.ts"
import { assetAt } from "./file/embedded.ts"
import { publicFileAt, publishedLooks } from "./file/sent.ts"
import { addressOf, guarded, secured } from "./guard.ts"
import { healthAt } from "./health.ts"
import { asMeant, namesInstance } from "./instance-host.ts"
import { confirmed, sameAsked } from "./node/lead.ts"
import { checkedOrigin } from "./origin.ts"
import { refusalLog } from "./refusal-log.ts"
import type { ServerServices } from "./services.ts"
import { setupPages } from "./setup/setup-pages.ts"
import type { SetupDoor } from "./setup/setup-token.ts"

/** Everything that answers, joined: one function for HTTP, and the operations for gRPC. */
export type App = {
  readonly answer: (request: Request, peer: Peer) => Promise<Response>
  /** The hot documents, at once; undefined for what `answer` is for. */
  readonly published: (request: Request) => Response | undefined
  /** The last step of every other answer: puts on it what all have. */
  readonly guarded: (request: Request, response: Response) => Response
  /** The management interface, read with the first call of it. */
  readonly api: () => Promise<Api>
  /** The public host that the :authority of a gRPC call means. */
  readonly grpcHost: (authority: string) => string
  /** What the health check of gRPC says. */
  readonly condition: Condition
}

export type AppParts = {
  readonly services: ServerServices
  readonly setupToken: SetupDoor
  /** Where this process listens, as a proxy on the same machine would reach it. */
  readonly upstream: string
}

/**
 * Joins the modules. The book of the management interface is large, and a server that signs people
 * in may never need it: it is read when somebody calls, and the check has read it before.
 */
export function appOf(parts: AppParts): App {
  const { services, setupToken } = parts
  const api = lazily(async (): Promise<Api> => (await import("./api.ts")).apiOf(services))
  const show = pagesWith(uiEntry)
  const handlers = {
    api,
    // What everybody gets the same of is good for minutes anyway: it is told without the log, too.
    unseen: (request: Request, cause: unknown) => {
      if (cause instanceof Fault && cause.id === otherHistory) throw cause
      const known = namesInstance(request) ? undefined : published(request)
      if (known) return known
      throw cause
    },
    show,
    setup: setupPages(services, setupToken, show),
    instance: instanceHandler(services, show, parts.upstream),
  }
  const published = publishedHandler(
    (host) => callAt(services, host),
    (host, headers) => secured(services, host, headers),
    [publishedLooks],
  )
  return {
    api,
    published: (request) =>
      isFollowing(services.store) || namesInstance(request) ? undefined : published(request),
    guarded: (request, response) => guarded(services, request, response),
    answer: async (request, peer) => {
      const url = addressOf(request)
      // Checks of load balancers are HTTP/1.0 without a Host: no address then, only its path.
      const isBare = url instanceof Response && !request.headers.has("host")
      if (isBare) return healthAt(services, request, request.url) ?? url
      if (url instanceof Response) return url
      const answered = await answer(parts, handlers, { request, peer, url })
      try {
        // Whoever is told it may ask another process next.
        await services.store.pending()
        return answered
      } catch (cause) {
        return failed(parts, show, {
          request,
          origin: checkedOrigin(services, request, peer),
          cause,
        })
      }
    },
    grpcHost: (authority) => grpcHost(services.store, authority),
    condition: { isReady: () => services.notReady() === undefined, clock: services.clock },
  }
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

type Handlers = {
  readonly api: App["api"]
  /** What may be answered without what others wrote, which can't be had; throws why not else. */
  readonly unseen: (request: Request, cause: unknown) => Response
  readonly show: ShowPage
  readonly setup: ReturnType<typeof setupPages>
  readonly instance: ReturnType<typeof instanceHandler>
}

type Addressed = {
  readonly request: Request
  readonly peer: Peer
  readonly url: URL
}

async function answer(
  parts: AppParts,
  handlers: Handlers,
  { request: asked, peer, url }: Addressed,
): Promise<Response> {
  const { services, setupToken } = parts
  const { pathname } = url
  const health = healthAt(services, asked, pathname)
  if (health) return health
  if (pathname.startsWith("/ui/assets/")) return (await assetAt(asked, pathname)) ?? notFound()
  if (/^\/openapi(\/|$)/.test(pathname)) {
    return (await (await handlers.api()).description(asked, pathname)) ?? notFound()
  }
  const { node, worker } = services.store
  const unseen = node || worker ? await unseenBy(services, asked) : undefined
  // What it is meant for is looked up, which others may have changed.
  const request = asMeant(services, asked, peer)
  if (request !== asked) sameAsked(asked, request)
  const origin = checkedOrigin(services, request, peer)
  try {
    if (unseen) return handlers.unseen(request, unseen.cause)
    const cx = anonymousCall(services, request.headers, origin)
    const moved = cx && withoutDot(cx, request, url)
    if (moved) return moved
    const isShut = cx !== undefined && isBlocked(cx)
    const page = cx
      ? isShut || isOperation(pathname)
        ? undefined
        : await handlers.instance(request, cx, url)
      : setupToken.isOpen()
        ? await handlers.setup(request, origin)
        : await elsewhere(parts, handlers.show, { request, origin })
    const answered = page ?? (await (await handlers.api()).answer(request, origin))
    if (answered) return cx ? namingMetadata(cx, pathname, answered) : answered
    return (isShut ? shut : missing)(handlers.show, request, cx)
  } catch (cause) {
    return failed(parts, handlers.show, { request, origin, cause })
  }
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

/** Operations are called by their full names; no page or document has such a path. */
const isOperation = (pathname: string): boolean => pathname.startsWith("/core.")

/** Waits until what others wrote is here; answers why that can't be. */
async function unseenBy({ store }: ServerServices, request: Request) {
  try {
    await confirmed(store, request)
    return undefined
  } catch (cause) {
    return { cause }
  }
}

type Failure = { readonly request: Request; readonly origin: Origin; readonly cause: unknown }

/** A page or an endpoint that failed: the log gets the cause, the caller an id that finds it. */
async function failed(
  { services }: AppParts,
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

/** What browsers and OAuth clients of an instance ask for. */
function instanceHandler({ log, clock, meters }: ServerServices, show: ShowPage, upstream: string) {
  const logged = refusalLog(log, clock)
  const refused = (refusal: Refusal) => {
    logged(refusal)
    meters?.refused(refusal)
  }
  const oauth = oauthHandler({ show, refused, issued: meters?.issued })
  const saml = samlHandler({ show, refused })
  const login = loginHandler({ show, onward, answering, hrefs })
  const console = consoleHandler(uiEntry, upstream)
  const warm = once(() => warmed(log))
  return async (request: Request, cx: Cx, url: URL): Promise<Response | undefined> => {
    const { pathname } = url
    const answer = publicFileAt(request, cx, pathname) ?? (await oauth(request, cx, url))
    if (answer) return answer
    const spoken = await saml(request, cx, url)
    if (spoken) return spoken
    if (pathname.startsWith(loginPaths.entry)) warm()
    if (pathname === "/setup" && wantsPage(request)) {
      return showTrouble(show, cx, {
        problem: "set_up_done",
        status: 404,
        startHref: "/ui/console/",
      })
    }
    return (await login(request, cx, url)) ?? console(request, cx)
  }
}

/**
 * Loads the password library while a person still types, and not at start: a server that nobody
 * signs in to does without its memory.
 */
async function warmed(log: Logger): Promise<void> {
  if ((await warmPasswords()) !== "Bun.password") return
  log.warning("the addon for argon2 can't load here; passwords are checked more slowly")
}

function once(act: () => Promise<void>): () => void {
  let acted = false
  return () => {
    if (acted) return
    acted = true
    void act()
  }
}

const hrefs = {
  logout: oauthPaths.endSession,
  account: "/ui/account",
  console: "/ui/console/",
}

/** A browser that asked for a host we don't serve sees what to mend. */
async function elsewhere(
  { services, upstream }: AppParts,
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
