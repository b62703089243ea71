import { type Code, Fault } from "../../../kernel/fault.ts"
import type { TargetResponse } from "./call.ts"

const messageCharactersMax = 200

/**
 * The error that a target forwards to the caller: a response with status 200 that contains
 * `forwardedStatusCode`, 400 to 499, and `forwardedErrorMessage`; undefined if it forwards none.
 */
export function parseRejection({ status, body }: TargetResponse): Fault | undefined {
  if (status !== 200 || !body.includes('"forwardedStatusCode"')) return undefined
  const responseFields = parseFields(body)
  const code = responseFields.forwardedStatusCode
  if (typeof code !== "number" || code < 400 || code > 499) return undefined
  const message =
    typeof responseFields.forwardedErrorMessage === "string"
      ? responseFields.forwardedErrorMessage
      : ""
  const safeMessage = message
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
    .trim()
    .slice(0, messageCharactersMax)
  return new Fault(codes[code] ?? "failed_precondition", "target.refused", safeMessage || "refused")
}

/** The codes with their HTTP statuses (see api/faults.ts). */
const codes: Readonly<Record<number, Code>> = {
  400: "invalid_argument",
  401: "unauthenticated",
  403: "permission_denied",
  404: "not_found",
  409: "already_exists",
  429: "resource_exhausted",
}

function parseFields(json: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === "object" && value !== null
      ? Object.fromEntries(Object.entries(value))
      : {}
  } catch {
    return {}
  }
}
