import { requireInstance } from "../domain/instance/index.ts"
import type { uiEntry } from "../gen/ui-assets.ts"
import { areaOf, type Route } from "../http/route.ts"
import { wantsPage } from "../protocol/accept.ts"

/** What the console signs in for: to know the person, and to call the management interface. */
const scope = "openid profile email urn:core:iam:org:project:id:core:aud"

/**
 * The console, and beside it what people manage of themselves: one document for every address below
 * these, and what it must know to sign in. `upstream` is where a proxy on the same machine reaches
 * this process, for the settings that the console shows.
 */
export function consoleRoutes(entry: typeof uiEntry, upstream: string) {
  let html: string | undefined
  const document = async (): Promise<string> => {
    const { consoleDocument } = await import("../../ui/console/app/document.tsx")
    html ??= `<!doctype html>${consoleDocument(entry)}`
    return html
  }
  const page: Route = {
    answer: async ({ request }) =>
      wantsPage(request) ? new Response(await document(), { headers: documentHeaders }) : undefined,
  }
  return areaOf("console", {
    "/": {
      group: "other",
      isOpen: true,
      answer: ({ request }) => (wantsPage(request) ? toConsole() : undefined),
    },
    "/ui/*": {},
    "/ui/console": page,
    "/ui/console/*": page,
    "/ui/account": page,
    "/ui/account/*": page,
    "/ui/console/environment.json": {
      answer: ({ cx }) => {
        const { publicUrl, consoleClientId } = requireInstance(cx)
        const body = { issuer: publicUrl, clientId: consoleClientId, scope, upstream }
        return Response.json(body, { headers: { "cache-control": "no-store" } })
      },
    },
    // The console renews its tokens without a page, and reads the answer from the address.
    "/ui/console/callback": {
      answer: (exchange) =>
        wantsPage(exchange.request) ? page.answer?.(exchange) : new Response(null, { status: 204 }),
    },
  })
}

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
