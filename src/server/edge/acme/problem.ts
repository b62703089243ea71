import * as z from "zod/mini"
import { Fault } from "../../../kernel/fault.ts"

/** RFC 8555 §6.7, RFC 7807: the error response of an authority. */
const problemSchema = z.object({
  type: z._default(z.string(), ""),
  detail: z._default(z.string(), ""),
})

const prefix = "urn:ietf:params:acme:error:"

/**
 * An error of the authority. The ID ends with the ACME error type ("acme.rateLimited"), or is
 * "acme.answer" for an unexpected response.
 */
export const acmeError = (message: string, kind = "answer", retryAfterSeconds?: number): Fault =>
  new Fault("unavailable", `acme.${kind}`, message, {
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  })

type ErrorResponse = {
  readonly status: number
  readonly body: string
  readonly retryAfterSeconds: number | undefined
}

/** Parses an error response, which can also come from a proxy in front of the authority. */
export function rejectedError({ status, body, retryAfterSeconds }: ErrorResponse): Fault {
  const problem = parseProblem(body)
  const [, kind = "answer"] = new RegExp(`^${prefix}([A-Za-z]{1,40})$`).exec(problem.type) ?? []
  const words =
    `the authority rejected the request (${status}, ${kind}): ` + `${toOneLine(problem.detail)}`
  return acmeError(words, kind, retryAfterSeconds)
}

/** The error of a failed challenge or order. */
export function formatProblem(problem: unknown): string {
  const read = problemSchema.safeParse(problem)
  return toOneLine(read.success ? read.data.detail : "")
}

function parseProblem(body: string) {
  try {
    const read = problemSchema.safeParse(JSON.parse(body))
    if (read.success) return read.data
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause
  }
  return { type: "", detail: "" }
}

/** A text from the authority on one line, for the log. */
function toOneLine(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").trim()
  return line.slice(0, 300) || "no reason given"
}
