import { type Finding, likelyCauseOf } from "../domain/refusal/index.ts"
import { type FormLimits, formType, readForm } from "../protocol/body.ts"
import { OAuthError } from "./error.ts"

/** Parameters of a protocol request, without duplicates and empty values. */
export type Parameters = ReadonlyMap<string, string>

/** RFC 8693 §2.1. */
export const exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange"

/**
 * Parses parameters. RFC 6749 §3.1: a repeated one is rejected, an empty one is treated as absent.
 * RFC 8707 §2: `resource` can be repeated; RFC 8693 §2.1: so can `audience` in an exchange. Their
 * values are joined by spaces.
 */
export function parseParameters(search: URLSearchParams): Parameters {
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

/** The name only, because a value may be a secret. */
export const repeatedFinding = (search: URLSearchParams, name: string): Finding => ({
  subject: name,
  received: `${search.getAll(name).length} times`,
  expected: ["once"],
  ...likelyCauseOf(name, "parameter.repeated"),
})

const repeatedError = (search: URLSearchParams, name: string) =>
  new OAuthError("invalid_request", "a parameter is repeated", {
    finding: () => [repeatedFinding(search, name)],
  })

/** RFC 6749 §3.2: parameters are form-urlencoded, in the body only. */
export async function parseForm(request: Request, max?: FormLimits): Promise<URLSearchParams> {
  const form = await readForm(request, max)
  if (form === "other type") {
    // Clients that send JSON or query parameters receive this error.
    const subject = "content-type"
    const received = request.headers.get(subject) ?? ""
    throw new OAuthError("invalid_request", `the body must be ${formType}`, {
      finding: { subject, received, expected: [formType], ...likelyCauseOf(subject, "form.type") },
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

/** The value of a required parameter. */
export function requireParameter(parameters: Parameters, name: string): string {
  const value = parameters.get(name)
  if (value === undefined) throw new OAuthError("invalid_request", `${name} is required`)
  return value
}

/** RFC 6749 §3.3: values separated by spaces, without duplicates. */
export function splitWords(text: string | undefined): readonly string[] {
  if (text === undefined || text === "") return []
  return [...new Set(text.split(" ").filter((word) => word !== ""))]
}

/** The received value of a parameter and its accepted values. */
export const valueFinding = (
  subject: string,
  received: string,
  expected: readonly string[],
): Finding => ({ subject, received, expected, ...likelyCauseOf(subject, "value.unknown") })
