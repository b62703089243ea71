import { textWithin } from "../kernel/body.ts"

const bodyMax = 65_536

/** Fields of a posted page. A missing one reads as empty, a repeated one as its first. */
export type Fields = { readonly get: (name: string) => string }

/** Reads a form; undefined for a body that no page of ours posts. */
export async function fieldsOf(request: Request): Promise<Fields | undefined> {
  const type = request.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase()
  if (type !== "application/x-www-form-urlencoded") return undefined
  const body = await textWithin(request, bodyMax)
  if (body === undefined) return undefined
  const search = new URLSearchParams(body)
  return { get: (name) => search.get(name) ?? "" }
}

/** Sends the browser on with GET; `cookies` are Set-Cookie lines. */
export function goTo(location: string, ...cookies: readonly (string | undefined)[]): Response {
  const headers = new Headers({ location, "cache-control": "no-store" })
  for (const cookie of cookies) if (cookie) headers.append("set-cookie", cookie)
  return new Response(null, { status: 303, headers })
}
