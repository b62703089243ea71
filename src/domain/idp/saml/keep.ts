import type { Transaction } from "../../../store/index.ts"
import { idpMetadata } from "../model.ts"

/** Keeps what a provider says of itself, as a part of a step; nothing where that is so already. */
export function keepMetadata(tx: Transaction, id: string, metadata: string): void {
  if (tx.state(idpMetadata, id).metadata === metadata) return
  tx.append(idpMetadata, id, [{ type: "idp.metadata.changed", data: { metadata } }], tx.instance)
}

/** Forgets it, where there is any. */
export function forgetMetadata(tx: Transaction, id: string): void {
  if (tx.state(idpMetadata, id).metadata === "") return
  tx.append(idpMetadata, id, [{ type: "idp.metadata.removed", data: {} }])
}
