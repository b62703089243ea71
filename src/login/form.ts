import { type FormLimits, readForm } from "../protocol/body.ts"

/** Fields of a posted page. A missing field is empty; a repeated one has its first value. */
export type Fields = { readonly get: (name: string) => string }

/**
 * The code and key of a link. The page's script reads them from the fragment, which appears in no
 * server log; older links have the key in the query.
 */
export function parseLinkCode(fields: Fields): { readonly code: string; readonly key: string } {
  const [code = "", key = fields.get("key")] = fields.get("code").trim().split("&key=")
  return { code, key }
}

/** Parses a form; undefined for a body that none of our pages posts. */
export async function parseFields(request: Request): Promise<Fields | undefined> {
  const form = await readForm(request, formLimits)
  return typeof form === "string" ? undefined : { get: (name) => form.get(name) ?? "" }
}

/** Pages have few fields; the longest one is a password. */
const formLimits: FormLimits = { bytes: 16_384, parameters: 50 }

/** Redirects the browser with GET; `cookies` are Set-Cookie headers. */
export function redirectTo(
  location: string,
  ...cookies: readonly (string | undefined)[]
): Response {
  const headers = new Headers({ location, "cache-control": "no-store" })
  for (const cookie of cookies) if (cookie) headers.append("set-cookie", cookie)
  return new Response(null, { status: 303, headers })
}
