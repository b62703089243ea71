import * as z from "zod/mini"
import { Fault } from "../../../kernel/fault.ts"

/** RFC 8555 §6.7, RFC 7807: what an authority says where it refuses. */
const document = z.object({
  type: z._default(z.string(), ""),
  detail: z._default(z.string(), ""),
})

const prefix = "urn:ietf:params:acme:error:"

/**
 * That an authority did not give what it was asked for. The id ends with its own word for it
 * ("acme.rateLimited"), or is "acme.answer" for what nobody can mean.
 */
export const acmeError = (message: string, kind = "answer", retryAfterSeconds?: number): Fault =>
  new Fault("unavailable", `acme.${kind}`, message, {
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  })

type Refusal = {
  readonly status: number
  readonly body: string
  readonly retryAfterSeconds: number | undefined
}

/** Reads a refusal, which may be anything: what stands before the authority answers, too. */
export function refusedError({ status, body, retryAfterSeconds }: Refusal): Fault {
  const problem = problemIn(body)
  const [, kind = "answer"] = new RegExp(`^${prefix}([A-Za-z]{1,40})$`).exec(problem.type) ?? []
  const words = `the authority refused (${status}, ${kind}): ${wordsOf(problem.detail)}`
  return acmeError(words, kind, retryAfterSeconds)
}

/** Of what an authority says of a challenge or an order that came to nothing. */
export function problemText(problem: unknown): string {
  const read = document.safeParse(problem)
  return wordsOf(read.success ? read.data.detail : "")
}

function problemIn(body: string) {
  try {
    const read = document.safeParse(JSON.parse(body))
    if (read.success) return read.data
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause
  }
  return { type: "", detail: "" }
}

/** A text of somebody else's that goes into the log: one line of it. */
function wordsOf(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ").trim()
  return line.slice(0, 300) || "it gives no reason"
}
