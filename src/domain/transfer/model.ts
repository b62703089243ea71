import { aggregate, type Cx, type Event } from "../../store/index.ts"

/**
 * The secrets included in an export: password hashes, TOTP secrets, and client secrets for
 * providers.
 */
export type IncludedSecrets = {
  readonly withPasswords: boolean
  readonly withOtp: boolean
  readonly withSecrets: boolean
}

export type TransferEvent =
  | Event<"transfer.exported", IncludedSecrets & { readonly organizations: number }>
  | Event<
      "transfer.imported",
      { readonly organizations: number; readonly taken: number; readonly refused: number }
    >

/** Exports and imports of an instance's data; each has its own stream. */
export const transfer = aggregate<TransferEvent, null>({
  stream: "transfer",
  retention: "audit",
  initial: null,
  evolve: {
    "transfer.exported": () => null,
    "transfer.imported": () => null,
  },
})

/** Records an export in the log. */
export async function recordExport(
  cx: Cx,
  includedSecrets: IncludedSecrets,
  organizations: number,
): Promise<void> {
  const data = { ...includedSecrets, organizations }
  const id = cx.ids.next()
  await cx.store.transact(cx, (tx) =>
    tx.append(transfer, id, [{ type: "transfer.exported", data }]),
  )
}

/** Records an import in the log. */
export async function recordImport(
  cx: Cx,
  organizations: number,
  counts: { readonly taken: number; readonly refused: number },
): Promise<void> {
  const id = cx.ids.next()
  const data = { organizations, ...counts }
  await cx.store.transact(cx, (tx) =>
    tx.append(transfer, id, [{ type: "transfer.imported", data }]),
  )
}
