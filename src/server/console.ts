import { requireInstance } from "../domain/instance/index.ts"
import type { uiEntry } from "../gen/ui-assets.ts"
import { wantsPage } from "../kernel/text/accept.ts"
import type { Cx } from "../store/index.ts"

/** What the console signs in for: to know the person, and to call the management interface. */
const scope = "openid profile email urn:core:iam:org:project:id:core:aud"

/**
 * The console, and beside it what people manage of themselves: one document for every address below
 * these, and what it must know to sign in. `upstream` is where a proxy on the same machine reaches
 * this process, for the settings that the console shows.
 */
export function consoleHandler(entry: typeof uiEntry, upstream: string) {
  let html: string | undefined
  const document = async (): Promise<string> => {
    const { consoleDocument } = await import("../../ui/console/shell/document.tsx")
    html ??= `<!doctype html>${consoleDocument(entry)}`
    return html
  }
  return async (request: Request, cx: Cx): Promise<Response | undefined> => {
    const { pathname } = new URL(request.url)
    if (pathname === "/" && wantsPage(request)) return toConsole()
    if (pathname === "/ui/console/environment.json") {
      const { publicUrl, consoleClientId } = requireInstance(cx)
      const body = { issuer: publicUrl, clientId: consoleClientId, scope, upstream }
      return Response.json(body, { headers: { "cache-control": "no-store" } })
    }
    // The console renews its tokens without a page, and reads the answer from the address.
    if (pathname === callback && !wantsPage(request)) return new Response(null, { status: 204 })
    if (!/^\/ui\/(console|account)(\/|$)/.test(pathname) || !wantsPage(request)) return undefined
    return new Response(await document(), { headers: documentHeaders })
  }
}

const callback = "/ui/console/callback"

/** Scripts and styles are files of ours; nothing inline, nothing from elsewhere, never framed. */
const documentHeaders = {
  "content-type": "text/html; charset=utf-8",
  "cache-control": "no-cache",
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join("; "),
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
}

const toConsole = () => new Response(null, { status: 302, headers: { location: "/ui/console/" } })
