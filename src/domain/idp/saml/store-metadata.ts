import type { Transaction } from "../../../store/index.ts"
import { idpMetadata } from "../model.ts"

/** Stores the metadata of a provider in a transaction, if they changed. */
export function storeMetadata(tx: Transaction, id: string, metadata: string): void {
  if (tx.state(idpMetadata, id).metadata === metadata) return
  tx.append(idpMetadata, id, [{ type: "idp.metadata.changed", data: { metadata } }], tx.instance)
}

/** Deletes the metadata, if there are any. */
export function deleteMetadata(tx: Transaction, id: string): void {
  if (tx.state(idpMetadata, id).metadata === "") return
  tx.append(idpMetadata, id, [{ type: "idp.metadata.removed", data: {} }])
}
