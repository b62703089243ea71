import { areaOf, type Route } from "./route.ts"

type Watched = {
  /** Why requests should go elsewhere; undefined while they may come. */
  readonly notReady: () => string | undefined
  /** What the management interface's own check answers. */
  readonly alive: () => Response
}

/**
 * Answers those who watch over the process, whatever host they ask for: `healthz` as long as it
 * runs, `ready` while it may be sent requests. The interface's own `/healthz` says the same to
 * everybody, so that a probe does not have the whole book read.
 */
export function healthRoutes(watched: Watched) {
  const route = (path: string): Route => ({
    // The interface has it, too.
    isOpen: path === "/healthz",
    anywhere: ({ request }) => healthAt(watched, request, path),
  })
  const routes = paths.map((path) => [path, route(path)] as const)
  return areaOf("health", { ...Object.fromEntries(routes), "/debug/*": {} })
}

const paths = ["/healthz", "/debug/healthz", "/debug/ready"] as const

/** The same where only a path is known; undefined for every other path. */
export function healthAt(
  { notReady, alive }: Watched,
  { method }: Pick<Request, "method">,
  path: string,
): Response | undefined {
  if (path === "/healthz") return method === "GET" || method === "HEAD" ? alive() : undefined
  if (path === "/debug/healthz") return said("ok")
  if (path !== "/debug/ready") return undefined
  const why = notReady()
  return why === undefined ? said("ok") : said(`not ready: ${why}`, 503)
}

const said = (text: string, status = 200) =>
  new Response(`${text}\n`, {
    status,
    headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" },
  })
