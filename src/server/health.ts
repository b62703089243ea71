import { respond } from "../api/respond.ts"
import type { ServerServices } from "./services.ts"

/**
 * Answers those who watch over the process, whatever host they ask for: `healthz` as long as it
 * runs, `ready` while it may be sent requests. Undefined for every other path. The interface's own
 * `/healthz` says the same to everybody, so that a probe does not have the whole book read.
 */
export function healthAt({ notReady }: ServerServices, { method }: Request, pathname: string) {
  if (pathname === "/healthz" && (method === "GET" || method === "HEAD")) return respond("{}", {})
  if (pathname === "/debug/healthz") return said("ok")
  if (pathname !== "/debug/ready") return undefined
  const why = notReady()
  return why === undefined ? said("ok") : said(`not ready: ${why}`, 503)
}

const said = (text: string, status = 200) =>
  new Response(`${text}\n`, {
    status,
    headers: { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" },
  })
