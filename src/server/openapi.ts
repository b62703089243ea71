import { createHash } from "node:crypto"
import type { Entry } from "../api/dispatch.ts"
import { lazily } from "../kernel/lazy.ts"

/** Where the description of the REST interface is read, and where programs get it. */
const restPages = ["/openapi", "/openapi/json"] as const

/** The same of version 2, which has the JSON form of Connect instead. */
const connectPages = ["/openapi/v2", "/openapi/v2/json"] as const

/** Answers the description of an interface; undefined for every other path. */
export type OpenApi = (request: Request, pathname: string) => Promise<Response> | undefined

/** The paths of what the page of the reader loads. */
export type ReaderFiles = { readonly readerJs: string; readonly readerCss: string }

/**
 * The OpenAPI documents and their reader, by @elysiajs/swagger. Nothing of it is loaded before
 * somebody asks: most servers are never asked.
 */
export function openApiPages(entries: readonly Entry[], files: ReaderFiles): OpenApi {
  // A document and its page at once: what they are made of takes megabytes, and is not kept.
  const rest = lazily(async () => {
    const { openApiOf } = await import("../api/openapi/document.ts")
    return documentsOf(restPages, files, openApiOf(entries))
  })
  const connect = lazily(async () => {
    const { connectOpenApiOf } = await import("../api/openapi/connect-document.ts")
    return documentsOf(connectPages, files, connectOpenApiOf(entries))
  })
  return ({ method, headers }, pathname) => {
    const page = pathname.replace(/\/$/, "")
    if (method !== "GET" && method !== "HEAD") return undefined
    if (isOneOf(restPages, page)) return rest().then((all) => answer(all, page, headers))
    if (isOneOf(connectPages, page)) return connect().then((all) => answer(all, page, headers))
    return undefined
  }
}

const isOneOf = (pages: readonly string[], page: string): boolean => pages.includes(page)

/**
 * What a path answers, made once: it does not depend on the caller. Only the compressed text is
 * kept, which is a twentieth of the plain one.
 */
type Document = {
  readonly packed: Uint8Array<ArrayBuffer>
  readonly headers: Readonly<Record<string, string>> & { readonly etag: string }
}

/** RFC 9110 §13.1.2: who has it already is told just that. */
function answer(all: ReadonlyMap<string, Document>, page: string, requested: Headers): Response {
  const document = all.get(page)
  if (!document) throw new Error(`no document was made for ${page}`)
  const { packed, headers } = document
  const known = requested.get("if-none-match") ?? ""
  if (known === "*" || known.includes(headers.etag)) {
    return new Response(null, { status: 304, headers })
  }
  if (!/\bgzip\b/.test(requested.get("accept-encoding") ?? ""))
    return new Response(Bun.gunzipSync(packed), { headers })
  return new Response(packed, { headers: { ...headers, "content-encoding": "gzip" } })
}

type Pages = readonly [page: string, json: string]

type Described = {
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
}

/** The page of a document, and the document. */
async function documentsOf([page, json]: Pages, files: ReaderFiles, described: Described) {
  const html = await htmlOf(json, files, described)
  return new Map([
    [page, documentOf(page, html)],
    [json, documentOf(json, JSON.stringify(described))],
  ])
}

/** The page of the reader, which loads a document. */
async function htmlOf(
  json: string,
  { readerJs, readerCss }: ReaderFiles,
  { info: { title, version, description } }: Described,
): Promise<string> {
  const [{ Elysia }, { swagger }] = await Promise.all([
    import("elysia"),
    import("@elysiajs/swagger"),
  ])
  const plugin = swagger({
    path: "/openapi",
    documentation: { info: { title, version, description } },
    // The page names its reader and its style; both are files of ours.
    scalarCDN: readerJs,
    scalarConfig: {
      spec: { url: json },
      customCss: `@import url("${readerCss}");`,
    },
  })
  // Elysia loses the path of hosts with fewer than four letters.
  const made = await new Elysia().use(plugin).handle(new Request("http://localhost/openapi"))
  // Left alone, browsers take the element that holds settings for a script, and complain of it.
  const settings = `id="api-reference" type="application/json"`
  return (await made.text()).replace(`id="api-reference"`, settings)
}

function documentOf(page: string, plain: string): Document {
  // RFC 9110 §8.8.1: weak, since packed it is the same in other bytes.
  const etag = `W/"${createHash("sha256").update(plain).digest("base64url")}"`
  const headers = page.endsWith("/json") ? documentHeaders : pageHeaders(plain)
  return { packed: Bun.gzipSync(plain), headers: { ...always, ...headers, etag } }
}

const always = { "cache-control": "no-cache", vary: "accept-encoding" }

const documentHeaders = {
  "content-type": "application/json",
  // Tools that read the document run in pages of other origins.
  "access-control-allow-origin": "*",
}

/** Scripts are files of ours; of styles also those that the page itself has, by their hashes. */
const pageHeaders = (html: string) => ({
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' ${stylesIn(html).map(hashOf).join(" ")}`,
    "connect-src 'self'",
    "img-src 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join("; "),
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
})

const stylesIn = (html: string): readonly string[] =>
  [...html.matchAll(/<style>([\s\S]*?)<\/style>/g)].map(([, style = ""]) => style)

const hashOf = (style: string) => `'sha256-${createHash("sha256").update(style).digest("base64")}'`
