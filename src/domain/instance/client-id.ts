import type { ClaimChange } from "../../store/index.ts"

/**
 * What may stand in an audience or name a client is one namespace: client ids of applications,
 * names and ids of service users, ids of projects. Otherwise what is meant for one of them would
 * pass for another.
 */
export const clientClaim = "client"

type Taken = { readonly id: string; readonly message: string }

export const takeClientId = (key: string, taken: Taken): ClaimChange => ({
  take: clientClaim,
  key,
  taken,
})

export const releaseClientId = (key: string): ClaimChange => ({ release: clientClaim, key })
