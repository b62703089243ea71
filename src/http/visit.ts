import type { Peer } from "../kernel/net/address.ts"
import type { Cx } from "../store/index.ts"

/** Properties of a route that don't depend on the request. */
export type RouteInfo = {
  /** The path template as registered. */
  readonly template: string
  /** The label for metrics, one of a few. */
  readonly group: string
  /**
   * Whether it is part of a sign-in or sign-out: applications open it in a popup, and self-checks
   * sign in there.
   */
  readonly isSignIn: boolean
}

/** A request on its way to its route. */
export type Visit = {
  readonly request: Request
  readonly peer: Peer
  readonly url: URL
}

/** A request for an instance, as routes receive it. */
export type Exchange = {
  /** The request after method override, with the instance's host. */
  readonly request: Request
  readonly cx: Cx
  /** The parsed URL. */
  readonly url: URL
}

const routes = new WeakMap<Request, RouteInfo>()

/** Stores the route of a request; for API requests, later that of the operation. */
export const setRoute = (request: Request, route: RouteInfo): void =>
  void routes.set(request, route)

/** The route of a request, or undefined before routing. */
export const findRoute = (request: Request): RouteInfo | undefined => routes.get(request)
