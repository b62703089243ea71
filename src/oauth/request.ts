import { type FormMax, formType, formWithin } from "../kernel/body.ts"
import { OAuthError } from "./error.ts"

/** Parameters of a protocol request: each name once, none of them empty. */
export type Parameters = ReadonlyMap<string, string>

/** RFC 8693 §2.1. */
export const exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange"

/**
 * Reads parameters. RFC 6749 §3.1: a repeated one is refused, an empty one was not sent. RFC 8707
 * §2: `resource` may be repeated, and RFC 8693 §2.1: in an exchange `audience`, too; their values
 * come as words.
 */
export function parametersOf(search: URLSearchParams): Parameters {
  const found = new Map<string, string>()
  const seen = new Set<string>()
  const isExchange = search.get("grant_type") === exchangeGrant
  for (const [name, value] of search) {
    if (seen.has(name)) throw new OAuthError("invalid_request", "a parameter is repeated")
    if (name !== "resource" && !(isExchange && name === "audience")) seen.add(name)
    const before = found.get(name)
    if (value !== "") found.set(name, before === undefined ? value : `${before} ${value}`)
  }
  return found
}

/** RFC 6749 §3.2: parameters come form-urlencoded, in the body only. */
export async function formOf(request: Request, max?: FormMax): Promise<URLSearchParams> {
  const form = await formWithin(request, max)
  if (form === "other type") {
    throw new OAuthError("invalid_request", `the body must be ${formType}`)
  }
  if (form === "too large") throw new OAuthError("invalid_request", "the body is too large", 413)
  if (form === "too many") {
    throw new OAuthError("invalid_request", "there are too many parameters")
  }
  forms.set(request, form)
  return form
}

/** A body can be read once; whoever explains a refusal looks at it again. */
const forms = new WeakMap<Request, URLSearchParams>()

/** What a request has sent, as far as it was read: in its address, and in its form. */
export const sentIn = (request: Request, url: URL): URLSearchParams =>
  new URLSearchParams([...url.searchParams, ...(forms.get(request) ?? [])])

/** A parameter that must be there. */
export function required(parameters: Parameters, name: string): string {
  const value = parameters.get(name)
  if (value === undefined) throw new OAuthError("invalid_request", `${name} is missing`)
  return value
}

/** RFC 6749 §3.3: words separated by spaces; each once. */
export const wordsOf = (text: string | undefined): readonly string[] => [
  ...new Set((text ?? "").split(" ").filter((word) => word !== "")),
]
