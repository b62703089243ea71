import type { Elysia } from "elysia"
import { methodNotAllowed, preflight } from "./method.ts"
import type { Origin } from "./origin.ts"
import { type Exchange, noteRoute, type RouteInfo, type Visit } from "./visit.ts"

/** A response; undefined where a path is served, but not for this request. */
export type Answer = Promise<Response | undefined> | Response | undefined

export type Method = "GET" | "POST" | "PUT" | "DELETE"

/** What answers at one path. */
export type Route = Partial<Omit<RouteInfo, "template">> & {
  /** HEAD is taken where GET is; absent where every method is taken. */
  readonly methods?: readonly Method[]
  /** Whether operations of the API may have the same path, or one below it. */
  readonly isOpen?: boolean
  /** Whether scripts of other origins may call it. */
  readonly anyOrigin?: boolean
  /** Where it is not there for every request that its path fits: whether it is for this one. */
  readonly exists?: (exchange: Exchange) => boolean
  /** Answers whatever host was asked for. */
  readonly anywhere?: (visit: Visit) => Answer
  /** Answers before there is an instance. */
  readonly unowned?: (visit: Visit, origin: Origin) => Answer
  /** Answers for the instance of the host. */
  readonly answer?: (exchange: Exchange) => Answer
}

/** The routes of an area by their paths, as Elysia writes them: `:name` for a segment, `*` last. */
export type Routes = Readonly<Record<string, Route>>

/** Answers a request for which a route was found. */
export type Serve = (visit: Visit, route: Route) => Promise<Response>

/**
 * What each area exports: a plugin for Elysia. A function, since the routes of an instance would be
 * made twice, which takes as long again.
 */
export type Area = {
  (root: Elysia): Elysia
  /** The paths at and below which the API has no operation. */
  readonly reserved: readonly string[]
}

/** The area that has these routes. `group` is what metrics count their requests as. */
export function areaOf(group: string, routes: Routes): Area {
  const all = Object.entries(routes)
  const plugin = (root: Elysia): Elysia => {
    for (const [template, route] of all) {
      const { isSignIn = false } = route
      const handler = handlerOf(route, { template, group: route.group ?? group, isSignIn })
      // The path is found before the method: else one path would answer for another's methods.
      // Elysia answers HEAD by reading to its end what GET would answer, unless it has a route.
      root.all(template, handler, unread).head(template, handler, unread)
    }
    return root
  }
  const closed = all.flatMap(([template, { isOpen = false }]) => (isOpen ? [] : [template]))
  return Object.assign(plugin, { reserved: closed.map((path) => path.replace(/\/\*$/, "")) })
}

const handlerOf =
  (route: Route, info: RouteInfo) =>
  async ({ request }: { readonly request: Request }): Promise<Response> => {
    const { visit, serve } = routedOf(request)
    noteRoute(visit.request, info)
    const early = route.anywhere && (await route.anywhere(visit))
    return early ?? serve(visit, route)
  }

/** The body is read within limits of our own, by whoever answers. */
const unread = { parse: "none" } as const

/** A visit, and what serves it once its route is found. */
type Routed = { readonly visit: Visit; readonly serve: Serve }

const routed = new WeakMap<Request, Routed>()

/** Says what a request that Elysia is handed is about. */
export const beginRouting = (request: Request, of: Routed): void => void routed.set(request, of)

/** What a request that Elysia was handed is about. */
export function routedOf(request: Request): Routed {
  const found = routed.get(request)
  if (!found) throw new Error("a request was routed that nobody began")
  return found
}

/** What a route says to a request for an instance: the one place for HEAD, OPTIONS and 405. */
export function answerOf(route: Route, exchange: Exchange): Answer {
  const { methods, anyOrigin = false } = route
  const { request } = exchange
  if (route.exists?.(exchange) === false) return undefined
  if (methods) {
    const method = request.method === "HEAD" ? "GET" : request.method
    if (method === "OPTIONS" && anyOrigin) {
      return preflight(methods, request.headers.get("access-control-request-headers"))
    }
    if (!methods.some((known) => known === method)) return methodNotAllowed(methods)
  }
  return route.answer?.(exchange)
}
