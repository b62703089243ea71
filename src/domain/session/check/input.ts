import { isIP } from "node:net"
import type { Call } from "../../../kernel/context.ts"
import { fieldError } from "../../../kernel/fault.ts"
import { parseDisplayName } from "../../../kernel/text/identifier.ts"
import { mergeMetadata, type SessionMetadata, type UserAgent } from "../model.ts"

/** Limits for one session; every use of a session reads all of it. */
const limits = {
  keys: 50,
  bytes: 16_384,
  headers: 30,
  letters: 8192,
  seconds: 365 * 86_400,
} as const

/** Headers with credentials for other services, which are not stored. */
const secretHeaders: readonly string[] = ["authorization", "cookie", "proxy-authorization"]

/** Validates the user agent that a login page reports; removes headers with credentials. */
export function parseUserAgent(input: UserAgent): UserAgent {
  const { fingerprintId, ip, description } = input
  const header = Object.entries(input.header ?? {}).filter(
    ([name]) => !secretHeaders.includes(name.toLowerCase()),
  )
  if (ip !== undefined && isIP(ip) === 0) {
    throw invalidError("user_agent.ip", "must be an IP address, such as 203.0.113.7")
  }
  const texts = [
    fingerprintId,
    description,
    ...header.flatMap(([name, values]) => [name, ...values]),
  ]
  const letters = texts.reduce((sum, text = "") => sum + text.length, 0)
  if (header.length > limits.headers || letters > limits.letters) {
    throw invalidError(
      "user_agent",
      `can have at most ${limits.headers} headers and ${limits.letters} characters in total; ` +
        "send only those that identify a browser",
    )
  }
  return {
    ...(fingerprintId && { fingerprintId }),
    ...(ip !== undefined && { ip }),
    ...(description && { description }),
    ...(header.length > 0 && { header: Object.fromEntries(header) }),
  }
}

/** No browser sends a longer header. */
const userAgentMax = 300

/** What our own login pages know about the browser; none of it proves anything. */
export function userAgentOf({ from }: Pick<Call, "from">): UserAgent {
  const { address = "", userAgent = "" } = from ?? {}
  const truncated = userAgent.slice(0, userAgentMax)
  return {
    ...(isIP(address) !== 0 && { ip: address }),
    ...(truncated !== "" && { header: { "user-agent": [truncated] } }),
  }
}

/**
 * Validates the metadata that a login page sets; `before` is the current metadata of the session.
 */
export function parseMetadata(
  before: SessionMetadata,
  input: Readonly<Record<string, Uint8Array>>,
): SessionMetadata {
  const entries = Object.entries(input).map(([key, value]) => [
    parseDisplayName("metadata key", key),
    Buffer.from(value).toString("base64"),
  ])
  const fresh: SessionMetadata = Object.fromEntries(entries)
  const all = Object.entries(mergeMetadata(before, fresh))
  const bytes = all.reduce((sum, [key, value]) => sum + key.length + value.length, 0)
  if (all.length > limits.keys || bytes > limits.bytes) {
    throw invalidError(
      "metadata",
      `can have at most ${limits.keys} keys, and ${limits.bytes} characters in total in base64`,
    )
  }
  return fresh
}

/** Validates the lifetime of a session, in seconds. */
export function parseLifetime(seconds: number): number {
  if (seconds > 0 && seconds <= limits.seconds) return seconds
  throw invalidError("lifetime", `must be greater than 0 and at most ${limits.seconds}s, one year`)
}

const invalidError = (field: string, requirement: string) =>
  fieldError("request.field_invalid", field, requirement)
