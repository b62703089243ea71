import { aggregate, type Draft, type Event, type Transaction } from "../../store/index.ts"

export type RevocationEvent = Event<
  "oidc_session.access_token.revoked",
  {
    /** ms UTC; later the token is rejected as expired. */
    readonly expires: number
  }
>

export type Revocation = { readonly revoked: boolean; readonly expires: number }

/** Revoked access tokens, by ID, whose grant is still active. */
export const revocation = aggregate<RevocationEvent, Revocation>({
  stream: "revocation",
  retention: "transient",
  expires: ({ expires }) => expires + 60_000,
  initial: { revoked: false, expires: 0 },
  evolve: {
    "oidc_session.access_token.revoked": (_, { data }) => ({ revoked: true, ...data }),
  },
})

/**
 * Revokes one access token until it would expire at `expires`, ms UTC; no-op if it is already
 * revoked.
 */
export function revokeToken(tx: Transaction, tokenId: string, expires: number): void {
  if (tx.state(revocation, tokenId).revoked) return
  const revoked: Draft<RevocationEvent> = {
    type: "oidc_session.access_token.revoked",
    data: { expires },
  }
  tx.append(revocation, tokenId, [revoked])
}
