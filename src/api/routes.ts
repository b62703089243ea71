import { type AnyElysia, Elysia } from "elysia"
import { allowedOf } from "../http/method.ts"
import { noteRoute } from "../http/visit.ts"
import { wantsPage } from "../kernel/text/accept.ts"
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
  /** Absent where it is only asked whether an operation is there. */
  readonly address?: string
}

/** The calls that requests are about, by what Elysia is handed in their place. */
const calls = new WeakMap<Request, Call>()

function callOf(routed: Request): Call {
  const call = calls.get(routed)
  if (!call) throw new Error("a request was routed that nobody began")
  return call
}

/** What routes say to each other: that no operation is there, or that one is. */
const nothing = new Response(null, { status: 404 })
const something = new Response(null, { status: 204 })

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
  const root = rootOf(entries, reserved)
  const route = (call: Call, method: string) => root.handle(routableOf(call, method))
  const verbsAt = async ({ request, url, path }: Call): Promise<readonly string[]> => {
    const found = await Promise.all(
      verbs.map(async (verb) => {
        const isThere = (await route({ request, url, path }, verb)) === something
        return isThere ? [verb] : []
      }),
    )
    return found.flat()
  }
  return async (request, { address }) => {
    const url = new URL(request.url)
    const path = canonicalOf(url.pathname)
    // The interface gives the root to the web keys; a person who opens it wants the pages.
    if (path === undefined || (path === "/" && wantsPage(request))) return undefined
    const { method } = request
    const call = { request, url, path, address }
    const answer =
      method === "OPTIONS" ? nothing : await route(call, method === "HEAD" ? "GET" : method)
    if (answer !== nothing) return answer
    const others = await verbsAt(call)
    if (others.length === 0) return undefined
    return method === "OPTIONS" ? preflight() : wrongMethod(others, allowedOf(others))
  }
}

function rootOf(entries: readonly Entry[], reserved: readonly string[]): AnyElysia {
  const root = new Elysia({ strictPath: true, handler: { standardHostname: false } })
    // Its words are not for whoever called.
    .onError({ as: "global" }, ({ error }) => Promise.reject(error))
    .all("/*", async () => nothing, unread)
  const answerNamed = namedAnswer(entries)
  root.all("/core.*", async ({ request }) => answerNamed(callOf(request)), unread)
  for (const route of restRoutesOf(entries, { reserved })) {
    const { verb, pattern } = route
    root.route(verb, pattern, async ({ request }) => restAnswer(route, callOf(request)), unread)
  }
  return root.compile()
}

/** The body is read within limits of our own, by the dispatcher in its turn. */
const unread = { parse: "none" } as const

/** Operations by their full names, which are their paths. */
function namedAnswer(entries: readonly Entry[]) {
  const answer = namedCalls(entries)
  const byPath = new Map(entries.map((entry) => [`/${entry.name}`, entry]))
  return async ({ request, url, address }: Call): Promise<Response> => {
    const entry = byPath.get(url.pathname)
    if (!entry) return nothing
    if (address === undefined) return something
    noteRoute(request, { template: url.pathname, group: "connect", isSignIn: false })
    return answer(entry, request, address)
  }
}

async function restAnswer(
  route: RestRoute,
  { request, url, path, address }: Call,
): Promise<Response> {
  const captured = capturedBy(route.parts, path)
  if (!captured) return nothing
  if (address === undefined) return something
  noteRoute(request, { template: route.path, group: "rest", isSignIn: false })
  return answerRest(route, { request, url, address, captured })
}

/** The request as Elysia finds its path: itself, where that is written as it should be. */
function routableOf(call: Call, method: string): Request {
  const { request, url, path } = call
  const isAsItIs =
    request.method === method &&
    url.pathname === path &&
    url.protocol === "http:" &&
    url.hash === ""
  const routed = isAsItIs ? request : new Request(`http://routed.invalid${path}`, { method })
  calls.set(routed, call)
  return routed
}
