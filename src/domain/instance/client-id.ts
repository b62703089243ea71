import { Fault } from "../../kernel/fault.ts"
import type { ClaimChange } from "../../store/index.ts"

/**
 * What may stand in an audience or name a client is one namespace: client ids of applications,
 * names and ids of service users, ids of projects. Otherwise what is meant for one of them would
 * pass for another.
 */
export const clientClaim = "client"

type Taken = { readonly id: string; readonly message: string }

export function takeClientId(key: string, taken: Taken): ClaimChange {
  // The issuers of all instances stand in audiences, too: they are addresses.
  if (/^https?:/i.test(key)) throw looksLikeIssuer()
  return { take: clientClaim, key, taken }
}

/**
 * Takes the address of a document that says what a client is. It has a path, so that it is the
 * issuer of no instance.
 */
export function takeClientAddress(key: string, taken: Taken): ClaimChange {
  const url = URL.parse(key)
  if (url?.protocol !== "https:" || url.pathname === "/") throw looksLikeIssuer()
  return { take: clientClaim, key, taken }
}

const looksLikeIssuer = () =>
  new Fault(
    "invalid_argument",
    "client.id_is_address",
    "an id or a name that stands in tokens can't be a web address; choose another",
  )

export const releaseClientId = (key: string): ClaimChange => ({ release: clientClaim, key })
