import { requireInstance } from "../domain/instance/index.ts"
import type { uiEntry } from "../gen/ui-assets.ts"
import { createArea, type Route } from "../http/route.ts"
import { prefersHtml } from "../protocol/accept.ts"

/** The scope of the console: the user's identity and the management API. */
const scope = "openid profile email urn:core:iam:org:project:id:core:aud"

/**
 * The routes of the console and of the account pages: one document for all their paths, and the
 * settings for signing in. `upstream` is the URL at which a proxy on the same machine reaches this
 * process, which the console shows in its settings.
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
      prefersHtml(request)
        ? new Response(await document(), { headers: documentHeaders })
        : undefined,
  }
  return createArea("console", {
    "/": {
      group: "other",
      isOpen: true,
      answer: ({ request }) => (prefersHtml(request) ? redirectToConsole() : undefined),
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
    // The console renews its tokens without a page and reads the response from the URL.
    "/ui/console/callback": {
      answer: (exchange) =>
        prefersHtml(exchange.request)
          ? page.answer?.(exchange)
          : new Response(null, { status: 204 }),
    },
  })
}

/**
 * Scripts and styles come only from this server; nothing inline, no foreign sources, no framing.
 */
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

const redirectToConsole = () =>
  new Response(null, { status: 302, headers: { location: "/ui/console/" } })
