import { type AnyElysia, type DocumentDecoration, Elysia } from "elysia"
import { allowedMethods } from "../http/method.ts"
import { setRoute } from "../http/visit.ts"
import { prefersHtml } from "../protocol/accept.ts"
import type { Entry } from "./dispatch.ts"
import { createCallHandler } from "./encoding/method-path.ts"
import {
  createRestRoutes,
  handleRest,
  type RestRoute,
  wrongMethodResponse,
} from "./encoding/rest.ts"
import { canonicalPath, captureFields } from "./encoding/template.ts"
import { preflightResponse } from "./respond.ts"

/** Handles the paths of the API; returns undefined for all other paths. */
export type ApiHandler = (
  request: Request,
  peer: { readonly address: string },
) => Promise<Response | undefined>

/** A request and its parsed URL. */
type RoutedCall = {
  readonly request: Request
  readonly url: URL
  /** The path in canonical form. */
  readonly path: string
  readonly address: string
}

/** The calls by the request objects that are passed to Elysia. */
const callsByRequest = new WeakMap<Request, RoutedCall>()

function requireCall(routed: Request): RoutedCall {
  const call = callsByRequest.get(routed)
  if (!call) throw new Error("the routed request has no call")
  return call
}

/** The response of routes that have no operation. */
const emptyNotFound = new Response(null, { status: 404 })

/** The HTTP methods of operations. */
const verbs = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const

/**
 * The management API in all encodings except native gRPC. Its routes are in a second Elysia that is
 * created on first use, because many servers never need it and creating it takes as long as the
 * rest of the start. No operation can have a path at or below a `reserved` one.
 */
export function createApiHandler(
  entries: readonly Entry[],
  reserved: readonly string[] = [],
): ApiHandler {
  const byName = new Map(entries.map((entry) => [`/${entry.name}`, entry]))
  const root = createRoot(entries, { reserved, byName })
  const { static: exact, http: dynamic } = root.router
  const verbsAt = (path: string): readonly string[] =>
    verbs.filter((verb) => {
      if (Object.hasOwn(exact[path] ?? {}, verb)) return true
      const matched = dynamic.find(verb, path)
      // The last field, which captures the rest of a path, can be empty here.
      return matched !== null && matched.params["*"] !== ""
    })
  return async (request, { address }) => {
    const url = new URL(request.url)
    const path = canonicalPath(url.pathname)
    // The interface assigns the root to the web keys, but a browser that opens it needs the pages.
    if (path === undefined || (path === "/" && prefersHtml(request))) return undefined
    const { method } = request
    const call = { request, url, path, address }
    const answer = method === "OPTIONS" ? emptyNotFound : await root.handle(toRoutableRequest(call))
    if (answer !== emptyNotFound) return answer
    const others = byName.has(url.pathname) ? ["POST"] : verbsAt(path)
    if (others.length === 0) return undefined
    return method === "OPTIONS"
      ? preflightResponse()
      : wrongMethodResponse(others, allowedMethods(others))
  }
}

type EntriesByName = ReadonlyMap<string, Entry>

function createRoot(
  entries: readonly Entry[],
  { reserved, byName }: { readonly reserved: readonly string[]; readonly byName: EntriesByName },
): AnyElysia {
  const answerNamed = createNamedHandler(entries, byName)
  return createRestRoot(createRestRoutes(entries, { reserved }))
    .all("/*", async () => emptyNotFound, unparsedBody)
    .all("/core.*", async ({ request }) => answerNamed(requireCall(request)), unparsedBody)
    .compile()
}

/** The description of a route in the OpenAPI document. */
export type RouteDescription = {
  /** The path with the names of its fields. */
  readonly path: string
  readonly detail: DocumentDecoration
}

/**
 * An Elysia with the REST routes. With `describe`, the routes have their `detail` for the OpenAPI
 * document and paths that match no request, because Elysia requires one field name per position and
 * the templates use several. The server omits the descriptions so that its first call is fast.
 */
export function createRestRoot(
  routes: readonly RestRoute[],
  describe?: (route: RestRoute) => RouteDescription,
): AnyElysia {
  const root = new Elysia({ strictPath: true, handler: { standardHostname: false } })
    // The error text of Elysia must not reach the caller.
    .onError({ as: "global" }, ({ error }) => Promise.reject(error))
  for (const route of routes) {
    const { path, detail } = describe?.(route) ?? { path: route.pattern }
    const hook = detail ? { ...unparsedBody, detail } : unparsedBody
    root.route(
      route.verb,
      path,
      async ({ request }) => handleRoute(route, requireCall(request)),
      hook,
    )
  }
  return root
}

/** The dispatcher reads the body later, within its own limits. */
const unparsedBody = { parse: "none" } as const

/** Handles operations by their full names, which are their paths. */
function createNamedHandler(entries: readonly Entry[], byName: EntriesByName) {
  const answer = createCallHandler(entries)
  return ({ request, url, address }: RoutedCall): Response | Promise<Response> => {
    const entry = byName.get(url.pathname)
    if (!entry) return emptyNotFound
    setRoute(request, { template: url.pathname, group: "connect", isSignIn: false })
    return answer(entry, request, address)
  }
}

function handleRoute(
  route: RestRoute,
  { request, url, path, address }: RoutedCall,
): Response | Promise<Response> {
  const captured = captureFields(route.parts, path)
  if (!captured) return emptyNotFound
  setRoute(request, { template: route.path, group: "rest", isSignIn: false })
  return handleRest(route, { request, url, address, captured })
}

/** The request as Elysia finds its path: itself, where that is written as it should be. */
function toRoutableRequest(call: RoutedCall): Request {
  const { request, url, path } = call
  const method = request.method === "HEAD" ? "GET" : request.method
  const isWritten = url.pathname === path && url.protocol === "http:" && url.hash === ""
  const isRoutable = isWritten && request.method === method
  const routed = isRoutable ? request : new Request(`http://routed.invalid${path}`, { method })
  callsByRequest.set(routed, call)
  return routed
}
