import { type Code, Fault } from "../../../kernel/fault.ts"
import type { Reply } from "./call.ts"

const wordsMax = 200

/**
 * What a target forwards to the caller, by an answer of status 200 with `forwardedStatusCode`, 400
 * to 499, and `forwardedErrorMessage`; undefined where it forwards nothing.
 */
export function refusalIn({ status, body }: Reply): Fault | undefined {
  if (status !== 200 || !body.includes('"forwardedStatusCode"')) return undefined
  const said = fieldsIn(body)
  const code = said.forwardedStatusCode
  if (typeof code !== "number" || code < 400 || code > 499) return undefined
  const words = typeof said.forwardedErrorMessage === "string" ? said.forwardedErrorMessage : ""
  const shown = words
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
    .trim()
    .slice(0, wordsMax)
  return new Fault(codes[code] ?? "failed_precondition", "target.refused", shown || "refused")
}

/** The codes whose own HTTP status it is (see api/faults.ts). */
const codes: Readonly<Record<number, Code>> = {
  400: "invalid_argument",
  401: "unauthenticated",
  403: "permission_denied",
  404: "not_found",
  409: "already_exists",
  429: "resource_exhausted",
}

function fieldsIn(json: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === "object" && value !== null
      ? Object.fromEntries(Object.entries(value))
      : {}
  } catch {
    return {}
  }
}
