import type { Cx } from "../../store/index.ts"
import { domainOf, mustExist, requireDomain, unprovenError } from "./domain.ts"
import { type Challenge, org } from "./model.ts"

/** Where the proof of a domain is looked for. */
export const placeOf = (domain: string, { type, token }: Challenge): string =>
  type === "dns"
    ? `_core-challenge.${domain}`
    : `https://${domain}/.well-known/core-challenge/${token}.txt`

/**
 * Looks for the proof of a domain in the world. Answers what was found to be there; undefined where
 * the domain is proven already. Refuses what was not asked for, and what is not there.
 */
export async function findProof(
  cx: Cx,
  orgId: string,
  text: string,
): Promise<{ readonly domain: string; readonly challenge: Challenge } | undefined> {
  const state = cx.store.state(cx, org, orgId)
  mustExist(state)
  const domain = domainOf(text)
  const { verified, challenge } = requireDomain(state, domain)
  if (verified) return undefined
  if (!challenge) throw unprovenError("ask how the domain is to be proven first")
  const place = placeOf(domain, challenge)
  const shown = challenge.type === "dns" ? await records(cx, place) : await page(cx, place)
  if (shown.includes(challenge.token)) return { domain, challenge }
  throw unprovenError(
    challenge.type === "dns"
      ? `there is no TXT record at ${place} that says the token; it may take a while to show`
      : `${place} does not say the token and nothing else`,
  )
}

/** Whatever goes wrong on the way, the proof was not seen. */
async function records(cx: Cx, place: string): Promise<readonly string[]> {
  const found = await cx.outside.texts(place).catch(() => [])
  return found.map((text) => text.trim())
}

async function page(cx: Cx, url: string): Promise<readonly string[]> {
  const nothing = { status: 0, body: "" }
  const { status, body } = await cx.outside.send({ url, method: "GET" }).catch(() => nothing)
  return status === 200 ? [body.trim()] : []
}
