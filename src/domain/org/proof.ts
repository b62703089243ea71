import type { Cx } from "../../store/index.ts"
import { normalizeDomain, requireDomain, requireExists, unprovenError } from "./domain.ts"
import { type Challenge, org } from "./model.ts"

/** The location of the proof of a domain. */
export const proofLocationOf = (domain: string, { type, token }: Challenge): string =>
  type === "dns"
    ? `_core-challenge.${domain}`
    : `https://${domain}/.well-known/core-challenge/${token}.txt`

/**
 * Looks up the proof of a domain. Returns the challenge that was found; undefined if the domain is
 * already verified. Throws if no proof was requested or none is found.
 */
export async function findProof(
  cx: Cx,
  orgId: string,
  text: string,
): Promise<{ readonly domain: string; readonly challenge: Challenge } | undefined> {
  const state = cx.store.state(cx, org, orgId)
  requireExists(state)
  const domain = normalizeDomain(text)
  const { verified, challenge } = requireDomain(state, domain)
  if (verified) return undefined
  if (!challenge) throw unprovenError("request a proof for the domain first")
  const location = proofLocationOf(domain, challenge)
  const display =
    challenge.type === "dns" ? await lookUpRecords(cx, location) : await fetchPage(cx, location)
  if (display.includes(challenge.token)) return { domain, challenge }
  throw unprovenError(
    challenge.type === "dns"
      ? `no TXT record with the token found at ${location}; DNS changes can take a while`
      : `${location} must contain exactly the token`,
  )
}

/** Any error means that the proof was not found. */
async function lookUpRecords(cx: Cx, location: string): Promise<readonly string[]> {
  const found = await cx.outside.txtRecords(location).catch(() => [])
  return found.map((text) => text.trim())
}

async function fetchPage(cx: Cx, url: string): Promise<readonly string[]> {
  const nothing = { status: 0, body: "" }
  const { status, body } = await cx.outside.send({ url, method: "GET" }).catch(() => nothing)
  return status === 200 ? [body.trim()] : []
}
