import { aggregate, type Draft, type Event, type Transaction } from "../../store/index.ts"
import { instance } from "../instance/index.ts"
import { user } from "../user-model/index.ts"

/** Tokens that somebody got. */
export type Issued = {
  /** What they hang from. */
  readonly grantId: string
  readonly clientId: string
  readonly userId: string
  /** As OAuth names it. */
  readonly grantType: string
  readonly scopes: readonly string[]
}

export type IssuanceEvent = Event<"token.issued", Issued>

/** Who got tokens when, for as long as an audit may ask; never the tokens. */
export const issuance = aggregate<IssuanceEvent, { readonly noted: boolean }>({
  stream: "token",
  retention: "audit",
  initial: { noted: false },
  evolve: { "token.issued": () => ({ noted: true }) },
})

/**
 * Notes in a stream that tokens are issued, where the instance wants to know it of their user. Part
 * of the step that issues them, where there is one.
 */
export function noteIssued(tx: Transaction, streamId: string, issued: Issued): void {
  const { tokenAudit } = tx.state(instance, tx.instance).oidc
  const state = tx.state(user, issued.userId)
  const isMachine = "kind" in state && state.kind === "machine"
  if (!(isMachine ? tokenAudit.machines : tokenAudit.people)) return
  const noted: Draft<IssuanceEvent> = { type: "token.issued", data: issued }
  tx.append(issuance, streamId, [noted], tx.owner(user, issued.userId))
}
