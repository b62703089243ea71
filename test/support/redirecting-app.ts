import { createServer } from "node:http"
import { freePort } from "./latchkey.ts"

/** An application at one origin, which redirects every response to another origin. */
export type RedirectingApp = {
  /** The origin that receives the responses. */
  readonly url: string
  /** The origin that it redirects to. */
  readonly other: string
  /** Method and path of each request, with the query. */
  readonly requests: readonly string[]
  readonly close: () => void
}

/**
 * `/hop` redirects to the other origin, `/claude` to an application on the device; other paths show
 * a page. The browser decides whether a fragment, query or form is forwarded.
 */
export async function openRedirectingApp(): Promise<RedirectingApp> {
  const port = await freePort()
  const other = `http://localhost:${port}`
  const seen: string[] = []
  const server = createServer((request, response) => {
    const { pathname, search } = new URL(request.url ?? "/", other)
    if (pathname !== "/favicon.ico") seen.push(`${request.method} ${pathname}${search}`)
    response.setHeader("cache-control", "no-store")
    const location = { "/hop": `${other}/landed`, "/claude": "claude://callback" }[pathname]
    if (location) return response.writeHead(302, { location: location + search }).end()
    response.writeHead(200, { "content-type": "text/html" })
    return response.end("<!doctype html><title>App</title><h1>At the application</h1>")
  })
  await new Promise<void>((done) => server.listen(port, "127.0.0.1", done))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `http://127.0.0.1:${port}`, other, requests: seen, close }
}
