import { Fault } from "../../kernel/fault.ts"
import { givenName } from "../../kernel/text/given.ts"
import type {
  AnyEvent,
  Change,
  Cx,
  Draft,
  Reason,
  Receipt,
  UndoRequest,
} from "../../store/index.ts"
import { mustExist } from "./domain.ts"
import { heldMetadata } from "./metadata-view.ts"
import { type OrgEvent, org } from "./model.ts"

/** What others note about an organisation: a key, and any bytes. */
export type Metadata = { readonly key: string; readonly value: Uint8Array }

const valueMax = 500_000

/** Of one organisation. */
const most = { keys: 500, bytes: 5_000_000 } as const

/** Notes what is given; what is so already changes nothing. */
export async function setMetadata(
  cx: Cx,
  id: string,
  given: readonly Metadata[],
): Promise<Receipt> {
  const entries = checked(given)
  const step = await cx.store.transact(cx, (tx) => {
    mustExist(tx.state(org, id))
    // Metadata is of the organisation's stream, so these rows are as the step sees them.
    const held = heldMetadata(cx, id)
    const fresh = entries.filter(({ key, value }) => {
      const before = held.get(key)
      return !before || !Buffer.from(before).equals(value)
    })
    mustFit(new Map([...held, ...fresh.map(({ key, value }) => [key, value] as const)]))
    const set: readonly Draft<OrgEvent>[] = fresh.map(({ key, value }) => ({
      type: "org.metadata.set",
      data: { key },
      private: { value: Buffer.from(value).toString("base64") },
    }))
    tx.append(org, id, set)
  })
  return step.receipt(org, id)
}

/** Forgets keys; those that are not there are let be. Undefined where none of them was. */
export async function removeMetadata(
  cx: Cx,
  id: string,
  keys: readonly string[],
): Promise<Receipt | undefined> {
  if (keys.length === 0) throw nothing()
  const step = await cx.store.transact(cx, (tx) => {
    mustExist(tx.state(org, id))
    const held = heldMetadata(cx, id)
    const removed: readonly Draft<OrgEvent>[] = [...new Set(keys)]
      .filter((key) => held.has(key))
      .map((key) => ({ type: "org.metadata.removed", data: { key } }))
    tx.append(org, id, removed)
    return removed.length
  })
  return step.value === 0 ? undefined : step.receipt(org, id)
}

/** Each key once, and no value too long. */
function checked(given: readonly Metadata[]): readonly Metadata[] {
  if (given.length === 0) throw nothing()
  const entries = given.map(({ key, value }) => ({ key: givenName("metadata.key", key), value }))
  if (new Set(entries.map(({ key }) => key)).size < entries.length) {
    throw invalidError("org.metadata_twice", "name each key of the metadata once")
  }
  if (entries.some(({ value }) => value.length > valueMax)) {
    throw invalidError("org.metadata_too_long", `a value may have at most ${valueMax} bytes`)
  }
  return entries
}

function mustFit(all: ReadonlyMap<string, Uint8Array>): void {
  const bytes = [...all.values()].reduce((sum, value) => sum + value.length, 0)
  if (all.size <= most.keys && bytes <= most.bytes) return
  const message = `an organisation may have at most ${most.keys} keys of metadata, and`
  throw new Fault(
    "failed_precondition",
    "org.metadata_too_much",
    `${message} ${most.bytes} bytes in all`,
  )
}

const nothing = () => invalidError("org.metadata_missing", "name at least one key of metadata")

const invalidError = (id: string, message: string) => new Fault("invalid_argument", id, message)

/** How metadata of a resource is undone: the key has its former value again, or none. */
export const metadataUndo =
  (metadata: string) =>
  ({ event, earlier }: MetadataChange): Reason | UndoRequest => {
    const { key } = event.data
    if (!earlier || earlier.type.endsWith(".removed")) return [`Delete${metadata}`, { keys: [key] }]
    const value = earlier.private && "value" in earlier.private ? earlier.private.value : undefined
    if (typeof value !== "string") return "parts"
    return [`Set${metadata}`, { metadata: [{ key, value: Buffer.from(value, "base64") }] }]
  }

type MetadataChange = Pick<Change<AnyEvent, unknown>, "earlier"> & {
  readonly event: { readonly data: { readonly key: string } }
}
