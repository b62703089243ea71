import type { Peer } from "../kernel/net/address.ts"
import type { Cx } from "../store/index.ts"

/** What is known of a route, whoever asks for it. */
export type RouteInfo = {
  /** The template of its path, as it is registered. */
  readonly template: string
  /** What metrics count its requests as: one of few words. */
  readonly group: string
  /**
   * Whether it is part of a sign-in or sign-out: applications open its pages in windows of their
   * own, and a self-check signs in there.
   */
  readonly isSignIn: boolean
}

/** A request on its way to what answers it. */
export type Visit = {
  readonly request: Request
  readonly peer: Peer
  readonly url: URL
}

/** A request for an instance: what the routes of its areas are handed. */
export type Exchange = {
  /** The request as it is meant, with the host of the instance. */
  readonly request: Request
  readonly cx: Cx
  /** Parsed once for all. */
  readonly url: URL
}

const routes = new WeakMap<Request, RouteInfo>()

/** Notes the route of a request; of the API, later that of the operation. */
export const noteRoute = (request: Request, route: RouteInfo): void =>
  void routes.set(request, route)

/** The route of a request; undefined where none was looked for. */
export const routeOf = (request: Request): RouteInfo | undefined => routes.get(request)
