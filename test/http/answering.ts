// Areas joined as the server joins them, for tests that have a call context of their own.
import { type Area, answerOf, areaOf, type Serve } from "../../src/http/route.ts"
import { routerOf } from "../../src/http/router.ts"
import type { Visit } from "../../src/http/visit.ts"
import type { Cx } from "../../src/store/index.ts"

/** What says that no area has the path. */
const nothing = new Response(null, { status: 404 })

const raise = (_: Visit, cause: unknown): Promise<Response> => Promise.reject(cause)

/** Answers by areas, each request as `serve` says; undefined where none of them has its path. */
export function routedBy(areas: readonly Area[], serve: ServeOrNot) {
  const orNothing: Serve = async (visit, route) => (await serve(visit, route)) ?? nothing
  const all = [...areas, areaOf("other", { "/*": {} })]
  const router = routerOf({ areas: () => all, serve: orNothing, failed: raise })
  return async (visit: Visit): Promise<Response | undefined> => {
    const response = await router(visit)
    return response === nothing ? undefined : response
  }
}

type ServeOrNot = (...args: Parameters<Serve>) => Promise<Response | undefined>

/** Answers by areas for the instance of a call. */
export function answeringBy(areas: readonly Area[]) {
  const calls = new WeakMap<Visit, Cx>()
  const router = routedBy(areas, async (visit, route) => {
    const cx = calls.get(visit)
    if (!cx) throw new Error("a visit without a call")
    return answerOf(route, { ...visit, cx })
  })
  return (request: Request, cx: Cx, url: URL): Promise<Response | undefined> => {
    const visit = { request, url, peer: () => "127.0.0.1" }
    calls.set(visit, cx)
    return router(visit)
  }
}
