import { aggregate, type Draft, type Event, type Transaction } from "../../store/index.ts"

export type RevocationEvent = Event<
  "oidc_session.access_token.revoked",
  {
    /** ms UTC; from then on the token is refused for its age. */
    readonly expires: number
  }
>

export type Revocation = { readonly revoked: boolean; readonly expires: number }

/** Single access tokens, by id, that are worth nothing any more though their grant stands. */
export const revocation = aggregate<RevocationEvent, Revocation>({
  stream: "revocation",
  retention: "transient",
  expires: ({ expires }) => expires + 60_000,
  initial: { revoked: false, expires: 0 },
  evolve: {
    "oidc_session.access_token.revoked": (_, { data }) => ({ revoked: true, ...data }),
  },
})

/** Revokes one access token until it would have expired at `expires`, ms UTC. Twice is once. */
export function revokeToken(tx: Transaction, tokenId: string, expires: number): void {
  if (tx.state(revocation, tokenId).revoked) return
  const revoked: Draft<RevocationEvent> = {
    type: "oidc_session.access_token.revoked",
    data: { expires },
  }
  tx.append(revocation, tokenId, [revoked])
}
