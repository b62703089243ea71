import { isIP } from "node:net"
import type { Call } from "../../../kernel/context.ts"
import { fieldError } from "../../../kernel/fault.ts"
import { givenName } from "../../../kernel/text/given.ts"
import { noted, type SessionMetadata, type UserAgent } from "../model.ts"

/** Of one session; all of it is read with every use of it. */
const most = { keys: 50, bytes: 16_384, headers: 30, letters: 8192, seconds: 365 * 86_400 } as const

/** What a request brings that lets somebody in elsewhere, and is nothing to keep. */
const secretHeaders: readonly string[] = ["authorization", "cookie", "proxy-authorization"]

/** Reads what a login page tells of its person's browser; without what is secret there. */
export function givenUserAgent(given: UserAgent): UserAgent {
  const { fingerprintId, ip, description } = given
  const header = Object.entries(given.header ?? {}).filter(
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
  if (header.length > most.headers || letters > most.letters) {
    throw invalidError(
      "user_agent",
      `may have ${most.headers} headers and ${most.letters} letters in all; ` +
        "send those that tell a browser from others",
    )
  }
  return {
    ...(fingerprintId && { fingerprintId }),
    ...(ip !== undefined && { ip }),
    ...(description && { description }),
    ...(header.length > 0 && { header: Object.fromEntries(header) }),
  }
}

/** No browser says more of itself; who does is no browser. */
const seenMax = 300

/** What our own pages know of the browser that signs in; nothing of it is the worth of a proof. */
export function seenUserAgent({ from }: Pick<Call, "from">): UserAgent {
  const { address = "", userAgent = "" } = from ?? {}
  const said = userAgent.slice(0, seenMax)
  return {
    ...(isIP(address) !== 0 && { ip: address }),
    ...(said !== "" && { header: { "user-agent": [said] } }),
  }
}

/** Reads what a login page notes; `before` is what a session has of it. */
export function givenMetadata(
  before: SessionMetadata,
  given: Readonly<Record<string, Uint8Array>>,
): SessionMetadata {
  const entries = Object.entries(given).map(([key, value]) => [
    givenName("metadata key", key),
    Buffer.from(value).toString("base64"),
  ])
  const fresh: SessionMetadata = Object.fromEntries(entries)
  const all = Object.entries(noted(before, fresh))
  const bytes = all.reduce((sum, [key, value]) => sum + key.length + value.length, 0)
  if (all.length > most.keys || bytes > most.bytes) {
    throw invalidError(
      "metadata",
      `may have at most ${most.keys} keys, and ${most.bytes} letters in all in base64`,
    )
  }
  return fresh
}

/** Reads for how long a session is to be good, in seconds. */
export function givenLifetime(seconds: number): number {
  if (seconds > 0 && seconds <= most.seconds) return seconds
  throw invalidError("lifetime", `must be more than nothing and at most ${most.seconds}s, a year`)
}

const invalidError = (field: string, wanted: string) =>
  fieldError("request.field_invalid", field, wanted)
