import { type AnyElysia, Elysia } from "elysia"
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

/** What each area exports: a plugin for Elysia. `group` is what metrics count its requests as. */
export function areaOf(group: string, routes: Routes): AnyElysia {
  // Paths are exact: what is served at /a is not served at /a/.
  const area = new Elysia({ strictPath: true })
  const reserved: string[] = []
  reservedBy.set(area, reserved)
  for (const [template, route] of Object.entries(routes)) {
    const { isSignIn = false, isOpen = false } = route
    if (!isOpen) reserved.push(template)
    const info = { template, group: route.group ?? group, isSignIn }
    const handler = async ({ request }: { readonly request: Request }) => {
      const { visit, serve } = routedOf(request)
      noteRoute(visit.request, info)
      const early = route.anywhere && (await route.anywhere(visit))
      return early ?? serve(visit, route)
    }
    // The path is found before the method: else one path would answer for another's methods.
    // Elysia answers HEAD by reading to its end what GET would answer, unless it has a route.
    area.all(template, handler, unread).head(template, handler, unread)
  }
  return area
}

const reservedBy = new WeakMap<AnyElysia, readonly string[]>()

/** The paths of areas, at and below which the API has no operation. */
export const reservedIn = (areas: readonly AnyElysia[]): readonly string[] =>
  areas.flatMap((area) => reservedBy.get(area) ?? []).map((path) => path.replace(/\/\*$/, ""))

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
