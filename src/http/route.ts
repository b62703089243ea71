import type { Elysia } from "elysia"
import { methodNotAllowed, preflightResponse } from "./method.ts"
import type { RequestOrigin } from "./origin.ts"
import { type Exchange, type RouteInfo, setRoute, type Visit } from "./visit.ts"

/** A response, or undefined if the path exists but not for this request. */
export type Answer = Promise<Response | undefined> | Response | undefined

export type Method = "GET" | "POST" | "PUT" | "DELETE"

/** A route: the handlers of one path. */
export type Route = Partial<Omit<RouteInfo, "template">> & {
  /** HEAD is allowed with GET; all methods are allowed if absent. */
  readonly methods?: readonly Method[]
  /** Whether API operations may have the same path, or one below it. */
  readonly isOpen?: boolean
  /** Whether scripts of other origins may call it. */
  readonly anyOrigin?: boolean
  /** Whether the route exists for this request; always, if absent. */
  readonly exists?: (exchange: Exchange) => boolean
  /** Answers for any host, before the instance is resolved. */
  readonly anyHost?: (visit: Visit) => Answer
  /** Answers before the first instance exists. */
  readonly beforeSetup?: (visit: Visit, origin: RequestOrigin) => Answer
  /** Answers for the host's instance. */
  readonly answer?: (exchange: Exchange) => Answer
}

/** The routes of an area by path, in Elysia's syntax: `:name` for a segment, `*` at the end. */
export type Routes = Readonly<Record<string, Route>>

/** Answers a request whose route was found. */
export type Serve = (visit: Visit, route: Route) => Promise<Response>

/**
 * An area's routes as an Elysia plugin. A function, because mounting an Elysia instance would
 * register its routes twice, at twice the cost.
 */
export type Area = {
  (root: Elysia): Elysia
  /** Paths without API operations, including everything below. */
  readonly reserved: readonly string[]
}

/** Creates an area from routes. `group` labels its requests in metrics. */
export function createArea(group: string, routes: Routes): Area {
  const all = Object.entries(routes)
  const plugin = (root: Elysia): Elysia => {
    for (const [template, route] of all) {
      const { isSignIn = false } = route
      const handler = createHandler(route, { template, group: route.group ?? group, isSignIn })
      // Match the path before the method: otherwise another route could answer for other methods.
      // Without a HEAD route, Elysia would run the GET handler and read the whole body.
      root.all(template, handler, withoutBodyParsing).head(template, handler, withoutBodyParsing)
    }
    return root
  }
  const reservedPaths = all.flatMap(([template, { isOpen = false }]) => (isOpen ? [] : [template]))
  return Object.assign(plugin, { reserved: reservedPaths.map((path) => path.replace(/\/\*$/, "")) })
}

const createHandler =
  (route: Route, info: RouteInfo) =>
  async ({ request }: { readonly request: Request }): Promise<Response> => {
    const { visit, serve } = requirePendingVisit(request)
    setRoute(visit.request, info)
    const anyHostAnswer = route.anyHost && (await route.anyHost(visit))
    return anyHostAnswer ?? serve(visit, route)
  }

/** Elysia must not read the body: handlers read it with our limits. */
const withoutBodyParsing = { parse: "none" } as const

/** A visit, and the function that serves it once its route is found. */
type PendingVisit = { readonly visit: Visit; readonly serve: Serve }

const pendingVisits = new WeakMap<Request, PendingVisit>()

/** Stores the visit of a request before Elysia handles it. */
export const beginRouting = (request: Request, pending: PendingVisit): void =>
  void pendingVisits.set(request, pending)

/** Returns the visit of a request that Elysia handles. */
export function requirePendingVisit(request: Request): PendingVisit {
  const found = pendingVisits.get(request)
  if (!found) throw new Error("the request was routed without beginRouting")
  return found
}

/**
 * Applies a route to a request for an instance; the only place that handles HEAD, OPTIONS and 405.
 */
export function answerRoute(route: Route, exchange: Exchange): Answer {
  const { methods, anyOrigin = false } = route
  const { request } = exchange
  if (route.exists?.(exchange) === false) return undefined
  if (methods) {
    const method = request.method === "HEAD" ? "GET" : request.method
    if (method === "OPTIONS" && anyOrigin) {
      return preflightResponse(methods, request.headers.get("access-control-request-headers"))
    }
    if (!methods.some((allowed) => allowed === method)) return methodNotAllowed(methods)
  }
  return route.answer?.(exchange)
}
