import { type FormMax, formWithin } from "../protocol/body.ts"

/** Fields of a posted page. A missing one reads as empty, a repeated one as its first. */
export type Fields = { readonly get: (name: string) => string }

/**
 * The code and the key of a link. The script of the page fills in all that the link has behind the
 * #, which reaches no server log; links of earlier versions have the key in the query.
 */
export function linkCodeIn(fields: Fields): { readonly code: string; readonly key: string } {
  const [code = "", key = fields.get("key")] = fields.get("code").trim().split("&key=")
  return { code, key }
}

/** Reads a form; undefined for a body that no page of ours posts. */
export async function fieldsOf(request: Request): Promise<Fields | undefined> {
  const form = await formWithin(request, pageMax)
  return typeof form === "string" ? undefined : { get: (name) => form.get(name) ?? "" }
}

/** Pages have a handful of fields; the longest is a password. */
const pageMax: FormMax = { bytes: 16_384, parameters: 50 }

/** Sends the browser on with GET; `cookies` are Set-Cookie lines. */
export function goTo(location: string, ...cookies: readonly (string | undefined)[]): Response {
  const headers = new Headers({ location, "cache-control": "no-store" })
  for (const cookie of cookies) if (cookie) headers.append("set-cookie", cookie)
  return new Response(null, { status: 303, headers })
}
