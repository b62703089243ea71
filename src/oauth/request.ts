import { because, type Finding } from "../domain/refusal/index.ts"
import { type FormMax, formType, formWithin } from "../protocol/body.ts"
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
  const empty = new Set<string>()
  for (const [name, value] of search) {
    const before = found.get(name)
    if ((before !== undefined || empty.has(name)) && !isRepeatable(search, name)) {
      throw repeatedError(search, name)
    }
    if (value === "") empty.add(name)
    else found.set(name, before === undefined ? value : `${before} ${value}`)
  }
  return found
}

const isRepeatable = (search: URLSearchParams, name: string): boolean =>
  name === "resource" || (name === "audience" && search.get("grant_type") === exchangeGrant)

/** The name only, since a value may be a secret. */
export const repeatedFinding = (search: URLSearchParams, name: string): Finding => ({
  subject: name,
  received: `${search.getAll(name).length} times`,
  expected: ["once"],
  ...because(name, "parameter.repeated"),
})

const repeatedError = (search: URLSearchParams, name: string) =>
  new OAuthError("invalid_request", "a parameter is repeated", {
    finding: () => [repeatedFinding(search, name)],
  })

/** RFC 6749 §3.2: parameters come form-urlencoded, in the body only. */
export async function formOf(request: Request, max?: FormMax): Promise<URLSearchParams> {
  const form = await formWithin(request, max)
  if (form === "other type") {
    // Clients that send JSON, or everything in the address, find it out here.
    const subject = "content-type"
    const received = request.headers.get(subject) ?? ""
    throw new OAuthError("invalid_request", `the body must be ${formType}`, {
      finding: { subject, received, expected: [formType], ...because(subject, "form.type") },
    })
  }
  if (form === "too large") {
    throw new OAuthError("invalid_request", "the body is too large", { status: 413 })
  }
  if (form === "too many") {
    throw new OAuthError("invalid_request", "there are too many parameters")
  }
  return form
}

/** A parameter that must be there. */
export function required(parameters: Parameters, name: string): string {
  const value = parameters.get(name)
  if (value === undefined) throw new OAuthError("invalid_request", `${name} is missing`)
  return value
}

/** RFC 6749 §3.3: words separated by spaces; each once. */
export function wordsOf(text: string | undefined): readonly string[] {
  if (text === undefined || text === "") return []
  return [...new Set(text.split(" ").filter((word) => word !== ""))]
}

/** What was sent of a parameter that has few values, beside those. */
export const valueFinding = (
  subject: string,
  received: string,
  expected: readonly string[],
): Finding => ({ subject, received, expected, ...because(subject, "value.unknown") })
