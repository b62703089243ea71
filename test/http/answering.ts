// Combines areas like the server, for tests with their own call context.
import { type Area, answerRoute, createArea, type Serve } from "../../src/http/route.ts"
import { createRouter } from "../../src/http/router.ts"
import type { Visit } from "../../src/http/visit.ts"
import type { Cx } from "../../src/store/index.ts"

/** The response if no area has the path. */
const notFound = new Response(null, { status: 404 })

const raise = (_: Visit, cause: unknown): Promise<Response> => Promise.reject(cause)

/** Routes requests to areas and serves each with `serve`; undefined if no area has its path. */
export function routeBy(areas: readonly Area[], serve: OptionalServe) {
  const orNothing: Serve = async (visit, route) => (await serve(visit, route)) ?? notFound
  const all = [...areas, createArea("other", { "/*": {} })]
  const router = createRouter({ areas: () => all, serve: orNothing, failed: raise })
  return async (visit: Visit): Promise<Response | undefined> => {
    const response = await router(visit)
    return response === notFound ? undefined : response
  }
}

type OptionalServe = (...args: Parameters<Serve>) => Promise<Response | undefined>

/** Serves areas for the instance of a call. */
export function serveAreas(areas: readonly Area[]) {
  const calls = new WeakMap<Visit, Cx>()
  const router = routeBy(areas, async (visit, route) => {
    const cx = calls.get(visit)
    if (!cx) throw new Error("a visit without a call")
    return answerRoute(route, { ...visit, cx })
  })
  return (request: Request, cx: Cx, url: URL): Promise<Response | undefined> => {
    const visit = { request, url, peer: () => "127.0.0.1" }
    calls.set(visit, cx)
    return router(visit)
  }
}
