import { type AnyElysia, type DocumentDecoration, Elysia } from "elysia"
import { allowedOf } from "../http/method.ts"
import { noteRoute } from "../http/visit.ts"
import { wantsPage } from "../protocol/accept.ts"
import type { Entry } from "./dispatch.ts"
import { namedCalls } from "./encoding/named.ts"
import { answerRest, type RestRoute, restRoutesOf, wrongMethod } from "./encoding/rest.ts"
import { canonicalOf, capturedBy } from "./encoding/template.ts"
import { preflight } from "./respond.ts"

/** Answers what the API serves; undefined for every other path, which the server serves or not. */
export type ApiHandler = (
  request: Request,
  peer: { readonly address: string },
) => Promise<Response | undefined>

/** A request on its way to the route of an operation. */
type Call = {
  readonly request: Request
  readonly url: URL
  /** Its path, written in the one way. */
  readonly path: string
  readonly address: string
}

/** The calls that requests are about, by what Elysia is handed in their place. */
const calls = new WeakMap<Request, Call>()

function callOf(routed: Request): Call {
  const call = calls.get(routed)
  if (!call) throw new Error("a request was routed that nobody began")
  return call
}

/** What routes say where no operation is. */
const nothing = new Response(null, { status: 404 })

/** Verbs that operations have. */
const verbs = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const

/**
 * The management interface in all encodings but native gRPC. Its paths are found by a second
 * Elysia: most servers are never asked, and to make it takes as long as all else. No operation may
 * lie at or below what is `reserved` for the server itself.
 */
export function apiHandler(
  entries: readonly Entry[],
  reserved: readonly string[] = [],
): ApiHandler {
  const byName = new Map(entries.map((entry) => [`/${entry.name}`, entry]))
  const root = rootOf(entries, { reserved, byName })
  const { static: exact, http: dynamic } = root.router
  const verbsAt = (path: string): readonly string[] =>
    verbs.filter((verb) => {
      if (Object.hasOwn(exact[path] ?? {}, verb)) return true
      const found = dynamic.find(verb, path)
      // What is to fill the last field, the rest of a path, may be empty here.
      return found !== null && found.params["*"] !== ""
    })
  return async (request, { address }) => {
    const url = new URL(request.url)
    const path = canonicalOf(url.pathname)
    // The interface gives the root to the web keys; a person who opens it wants the pages.
    if (path === undefined || (path === "/" && wantsPage(request))) return undefined
    const { method } = request
    const call = { request, url, path, address }
    const answer = method === "OPTIONS" ? nothing : await root.handle(routableOf(call))
    if (answer !== nothing) return answer
    const others = byName.has(url.pathname) ? ["POST"] : verbsAt(path)
    if (others.length === 0) return undefined
    return method === "OPTIONS" ? preflight() : wrongMethod(others, allowedOf(others))
  }
}

type EntriesByName = ReadonlyMap<string, Entry>

function rootOf(
  entries: readonly Entry[],
  { reserved, byName }: { readonly reserved: readonly string[]; readonly byName: EntriesByName },
): AnyElysia {
  const answerNamed = namedAnswer(entries, byName)
  return restRoot(restRoutesOf(entries, { reserved }))
    .all("/*", async () => nothing, unread)
    .all("/core.*", async ({ request }) => answerNamed(callOf(request)), unread)
    .compile()
}

/** How the OpenAPI document describes a route. */
export type RouteDescription = {
  /** With the names of the fields that it fills. */
  readonly path: string
  readonly detail: DocumentDecoration
}

/**
 * An Elysia with the REST routes. With `describe` they carry their `detail` for the OpenAPI
 * document, and are at paths that find no request: Elysia takes one name of a field in one place,
 * and templates differ in it. The server leaves it out, so that its first call doesn't wait for
 * descriptions.
 */
export function restRoot(
  routes: readonly RestRoute[],
  describe?: (route: RestRoute) => RouteDescription,
): AnyElysia {
  const root = new Elysia({ strictPath: true, handler: { standardHostname: false } })
    // Its words are not for whoever called.
    .onError({ as: "global" }, ({ error }) => Promise.reject(error))
  for (const route of routes) {
    const { path, detail } = describe?.(route) ?? { path: route.pattern }
    const hook = detail ? { ...unread, detail } : unread
    root.route(route.verb, path, async ({ request }) => restAnswer(route, callOf(request)), hook)
  }
  return root
}

/** The body is read within limits of our own, by the dispatcher in its turn. */
const unread = { parse: "none" } as const

/** Operations by their full names, which are their paths. */
function namedAnswer(entries: readonly Entry[], byName: EntriesByName) {
  const answer = namedCalls(entries)
  return ({ request, url, address }: Call): Response | Promise<Response> => {
    const entry = byName.get(url.pathname)
    if (!entry) return nothing
    noteRoute(request, { template: url.pathname, group: "connect", isSignIn: false })
    return answer(entry, request, address)
  }
}

function restAnswer(
  route: RestRoute,
  { request, url, path, address }: Call,
): Response | Promise<Response> {
  const captured = capturedBy(route.parts, path)
  if (!captured) return nothing
  noteRoute(request, { template: route.path, group: "rest", isSignIn: false })
  return answerRest(route, { request, url, address, captured })
}

/** The request as Elysia finds its path: itself, where that is written as it should be. */
function routableOf(call: Call): Request {
  const { request, url, path } = call
  const method = request.method === "HEAD" ? "GET" : request.method
  const isWritten = url.pathname === path && url.protocol === "http:" && url.hash === ""
  const isRoutable = isWritten && request.method === method
  const routed = isRoutable ? request : new Request(`http://routed.invalid${path}`, { method })
  calls.set(routed, call)
  return routed
}
