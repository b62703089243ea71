import { Elysia } from "elysia"
import { type Area, beginRouting, requirePendingVisit, type Serve } from "./route.ts"
import type { Visit } from "./visit.ts"

export type RouterOptions = {
  /** The plugins of all areas, loaded on the first request; one of them matches every path. */
  readonly areas: () => readonly Area[]
  readonly serve: Serve
  /** Answers after a route has failed; the only place that does. */
  readonly failed: (visit: Visit, cause: unknown) => Promise<Response>
}

/** Finds the route of a request and answers it. */
export type Router = (visit: Visit) => Promise<Response>

/** Mounts all areas in Elysia. */
export function createRouter(routing: RouterOptions): Router {
  const roots = new Map<boolean, ReturnType<typeof createRoot>>()
  const rootFor = (isPlainHttp: boolean) => {
    const root = roots.get(isPlainHttp) ?? createRoot(routing, isPlainHttp)
    roots.set(isPlainHttp, root)
    return root
  }
  return (visit) => {
    const request = toRoutable(visit)
    beginRouting(request, { visit, serve: routing.serve })
    return rootFor(visit.url.protocol === "http:").handle(request)
  }
}

function createRoot({ areas, failed }: RouterOptions, isPlainHttp: boolean) {
  const root = new Elysia({
    strictPath: true,
    // Elysia skips the shortest possible host name when it searches for the path. By default that
    // assumes three letters after https://; without it, one character after http://.
    handler: { standardHostname: !isPlainHttp },
  }).onError({ as: "global" }, ({ request, error, set }) => {
    // Otherwise Elysia would copy the response, and send a body of known length in chunks.
    set.status = 200
    return failed(requirePendingVisit(request).visit, error)
  })
  for (const area of areas()) root.use(area)
  return root.compile()
}

/**
 * Returns a request whose path Elysia finds correctly. Only requests with a fragment, or with a
 * host name of one or two letters after https://, are changed.
 */
function toRoutable({ request, url }: Visit): Request {
  const isFound = url.hash === "" && (url.protocol === "http:" || url.host.length > 2)
  if (isFound) return request
  return new Request(`${url.protocol}//routed.invalid${url.pathname}${url.search}`, {
    method: request.method,
  })
}
