import { aggregate, type Cx, type Event } from "../../store/index.ts"

/** What left with people: hashes of passwords, secrets of their apps and of providers. */
export type Carried = {
  readonly withPasswords: boolean
  readonly withOtp: boolean
  readonly withSecrets: boolean
}

export type TransferEvent =
  | Event<"transfer.exported", Carried & { readonly organizations: number }>
  | Event<
      "transfer.imported",
      { readonly organizations: number; readonly taken: number; readonly refused: number }
    >

/** Who took data out of the instance, or into it; each time is a stream of its own. */
export const transfer = aggregate<TransferEvent, null>({
  stream: "transfer",
  retention: "audit",
  initial: null,
  evolve: {
    "transfer.exported": () => null,
    "transfer.imported": () => null,
  },
})

/** The log keeps who took something out. */
export async function noteExport(cx: Cx, carried: Carried, organizations: number): Promise<void> {
  const data = { ...carried, organizations }
  const id = cx.ids.next()
  await cx.store.transact(cx, (tx) =>
    tx.append(transfer, id, [{ type: "transfer.exported", data }]),
  )
}

/** The log keeps who brought something in. */
export async function noteImport(
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
