import { Elysia } from "elysia"
import { type Area, beginRouting, routedOf, type Serve } from "./route.ts"
import type { Visit } from "./visit.ts"

export type Routing = {
  /** The plugins of all areas, read with the first request; one has a route for every path. */
  readonly areas: () => readonly Area[]
  readonly serve: Serve
  /** Answers where a route has failed; the one place that does. */
  readonly failed: (visit: Visit, cause: unknown) => Promise<Response>
}

/** Finds the route of a request, and has it answered. */
export type Router = (visit: Visit) => Promise<Response>

/** Joins the areas in Elysia. */
export function routerOf(routing: Routing): Router {
  const roots = new Map<boolean, ReturnType<typeof rootOf>>()
  const rootFor = (isPlain: boolean) => {
    const root = roots.get(isPlain) ?? rootOf(routing, isPlain)
    roots.set(isPlain, root)
    return root
  }
  return (visit) => {
    const request = routableOf(visit)
    beginRouting(request, { visit, serve: routing.serve })
    return rootFor(visit.url.protocol === "http:").handle(request)
  }
}

function rootOf({ areas, failed }: Routing, isPlain: boolean) {
  const root = new Elysia({
    strictPath: true,
    // Elysia looks for the path behind the shortest name of a host. By default that is one of three
    // letters behind https://; without it, the first character behind http://.
    handler: { standardHostname: !isPlain },
  }).onError({ as: "global" }, ({ request, error, set }) => {
    // Else Elysia would copy the response, and a body of known length be sent in parts.
    set.status = 200
    return failed(routedOf(request).visit, error)
  })
  for (const area of areas()) root.use(area)
  return root.compile()
}

/**
 * The request as Elysia finds its path: the request itself, but for what nobody sends who means
 * well, a fragment, and for a name of one or two letters behind https://.
 */
function routableOf({ request, url }: Visit): Request {
  const isFound = url.hash === "" && (url.protocol === "http:" || url.host.length > 2)
  if (isFound) return request
  return new Request(`${url.protocol}//routed.invalid${url.pathname}${url.search}`, {
    method: request.method,
  })
}
