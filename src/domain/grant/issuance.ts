import { aggregate, type Draft, type Event, type Transaction } from "../../store/index.ts"
import { instance } from "../instance/index.ts"
import { user } from "../user-model/index.ts"

/** Tokens that were issued to a client. */
export type IssuedTokens = {
  /** What the tokens depend on. */
  readonly grantId: string
  readonly clientId: string
  readonly userId: string
  /** The OAuth grant type. */
  readonly grantType: string
  readonly scopes: readonly string[]
}

export type IssuanceEvent = Event<"token.issued", IssuedTokens>

/** Which tokens were issued when, for as long as the audit log is retained; never the tokens. */
export const issuance = aggregate<IssuanceEvent, { readonly noted: boolean }>({
  stream: "token",
  retention: "audit",
  initial: { noted: false },
  evolve: { "token.issued": () => ({ noted: true }) },
})

/**
 * Records that tokens were issued, if the instance has enabled this for the user. Part of the
 * transaction that issues them, if there is one.
 */
export function recordIssuedTokens(tx: Transaction, streamId: string, issued: IssuedTokens): void {
  const { tokenAudit } = tx.state(instance, tx.instance).oidc
  const state = tx.state(user, issued.userId)
  const isMachine = "kind" in state && state.kind === "machine"
  if (!(isMachine ? tokenAudit.machines : tokenAudit.people)) return
  const noted: Draft<IssuanceEvent> = { type: "token.issued", data: issued }
  tx.append(issuance, streamId, [noted], tx.owner(user, issued.userId))
}
