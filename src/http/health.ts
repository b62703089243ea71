import { createArea, type Route } from "./route.ts"

type HealthChecks = {
  /** Why the node is not ready; undefined while it accepts requests. */
  readonly notReady: () => string | undefined
  /** The response of the management API's own health check. */
  readonly alive: () => Response
}

/**
 * Routes for process monitoring, available on every host: `healthz` while the process runs, `ready`
 * while it accepts requests. The API's own `/healthz` is served here too, so that a probe does not
 * load all API descriptors.
 */
export function healthRoutes(checks: HealthChecks) {
  const route = (path: string): Route => ({
    // The API also defines this path.
    isOpen: path === "/healthz",
    anyHost: ({ request }) => healthResponse(checks, request, path),
  })
  const routes = paths.map((path) => [path, route(path)] as const)
  return createArea("health", { ...Object.fromEntries(routes), "/debug/*": {} })
}

const paths = ["/healthz", "/debug/healthz", "/debug/ready"] as const

/** The same by path alone; undefined for other paths. */
export function healthResponse(
  { notReady, alive }: HealthChecks,
  { method }: Pick<Request, "method">,
  path: string,
): Response | undefined {
  if (path === "/healthz") return method === "GET" || method === "HEAD" ? alive() : undefined
  if (path === "/debug/healthz") return plainText("ok")
  if (path !== "/debug/ready") return undefined
  const reason = notReady()
  return reason === undefined ? plainText("ok") : plainText(`not ready: ${reason}`, 503)
}

const plainText = (text: string, status = 200) =>
  new Response(`${text}\n`, {
    status,
    headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" },
  })
