import { Fault } from "../../kernel/fault.ts"
import type { ClaimChange } from "../../store/index.ts"

/**
 * All names in audiences and of clients share one namespace: client IDs of applications, names and
 * IDs of service accounts, IDs of projects. Otherwise a token for one of them could be used for
 * another.
 */
export const clientClaim = "client"

type TakenError = { readonly id: string; readonly message: string }

export function claimClientId(key: string, taken: TakenError): ClaimChange {
  // Issuers of instances are also in audiences, and they are URLs.
  if (/^https?:/i.test(key)) throw issuerLikeError()
  return { take: clientClaim, key, taken }
}

/**
 * Claims the URL of a client metadata document. It has a path, so it can't be the issuer of an
 * instance.
 */
export function claimClientUrl(key: string, taken: TakenError): ClaimChange {
  const url = URL.parse(key)
  if (url?.protocol !== "https:" || url.pathname === "/") throw issuerLikeError()
  return { take: clientClaim, key, taken }
}

const issuerLikeError = () =>
  new Fault(
    "invalid_argument",
    "client.id_is_address",
    "a client ID or name in tokens must not be a web URL; choose another",
  )

export const releaseClientId = (key: string): ClaimChange => ({ release: clientClaim, key })
