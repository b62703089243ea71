import { Fault } from "../../kernel/fault.ts"
import { parseDisplayName } from "../../kernel/text/identifier.ts"
import type { Aggregate, AnyEvent, Cx, Draft, Receipt, Transaction } from "../../store/index.ts"

/** Metadata of a user or an organization: a key and any bytes. */
export type Metadata = { readonly key: string; readonly value: Uint8Array }

/** A kind of resource that has metadata. */
export type MetadataOwner<E extends AnyEvent, State> = {
  readonly kind: Aggregate<E, State>
  /** How error messages name the resource. */
  readonly noun: string
  readonly requireExists: (state: State) => void
  /** Entries of one owner by key; a transaction sees its own changes. */
  readonly entriesOf: (cx: Cx, id: string) => ReadonlyMap<string, Uint8Array>
  /** The event that stores a value, in base64. */
  readonly setEvent: (key: string, value: string) => Draft<E>
  readonly removed: (key: string) => Draft<E>
  readonly errorIds: Readonly<Record<"missing" | "tooLong" | "tooMuch" | "twice", string>>
}

const valueMax = 500_000

/** Limits per owner; an application with the metadata scope receives all entries of a user. */
const limits = { keys: 500, bytes: 5_000_000 } as const

/** Commands for the metadata of one kind of owner. */
export function metadataOf<E extends AnyEvent, State>(owner: MetadataOwner<E, State>) {
  const { kind, requireExists: mustExist, entriesOf, errorIds } = owner
  const missingError = () => invalidError(errorIds.missing, "at least one metadata key is required")

  /** Sets entries within another transaction; unchanged entries are skipped. */
  function setInTransaction(
    cx: Cx,
    tx: Transaction,
    id: string,
    metadata: readonly Metadata[],
  ): void {
    mustExist(tx.state(kind, id))
    if (metadata.length === 0) return
    const entries = validateMetadata(owner, metadata)
    const before = entriesOf(cx, id)
    const changed = entries.filter(({ key, value }) => {
      const present = before.get(key)
      return !present || !Buffer.from(present).equals(value)
    })
    requireFits(owner, new Map([...before, ...toPairs(changed)]))
    tx.append(kind, id, metadataSetEvents(owner, changed))
  }

  return {
    /** Events for an owner without metadata. Throws if there are too many entries. */
    first: (metadata: readonly Metadata[]): readonly Draft<E>[] => {
      const entries = validateMetadata(owner, metadata)
      requireFits(owner, new Map(toPairs(entries)))
      return metadataSetEvents(owner, entries)
    },
    setWithin: setInTransaction,
    set: async (cx: Cx, id: string, metadata: readonly Metadata[]): Promise<Receipt> => {
      if (metadata.length === 0) throw missingError()
      const step = await cx.store.transact(cx, (tx) => setInTransaction(cx, tx, id, metadata))
      return step.receipt(kind, id)
    },
    /** Ignores unknown keys. Returns undefined if none was removed. */
    remove: async (cx: Cx, id: string, keys: readonly string[]): Promise<Receipt | undefined> => {
      if (keys.length === 0) throw missingError()
      const step = await cx.store.transact(cx, (tx) => {
        mustExist(tx.state(kind, id))
        const before = entriesOf(cx, id)
        const removed = [...new Set(keys)].filter((key) => before.has(key)).map(owner.removed)
        tx.append(kind, id, removed)
        return removed.length
      })
      return step.value === 0 ? undefined : step.receipt(kind, id)
    },
  }
}

type MetadataTexts = Pick<MetadataOwner<never, never>, "errorIds" | "noun">

/** Rejects duplicate keys and values that are too long. */
function validateMetadata(
  { errorIds }: MetadataTexts,
  metadata: readonly Metadata[],
): readonly Metadata[] {
  const entries = metadata.map(({ key, value }) => ({
    key: parseDisplayName("metadata.key", key),
    value,
  }))
  if (new Set(entries.map(({ key }) => key)).size < entries.length) {
    throw invalidError(errorIds.twice, "each metadata key must occur only once")
  }
  if (entries.some(({ value }) => value.length > valueMax)) {
    throw invalidError(errorIds.tooLong, `a metadata value must be at most ${valueMax} bytes`)
  }
  return entries
}

function requireFits(
  { errorIds, noun }: MetadataTexts,
  all: ReadonlyMap<string, Uint8Array>,
): void {
  const bytes = [...all.values()].reduce((sum, value) => sum + value.length, 0)
  if (all.size <= limits.keys && bytes <= limits.bytes) return
  const message = `${noun} can have at most ${limits.keys} metadata keys and`
  throw new Fault(
    "failed_precondition",
    errorIds.tooMuch,
    `${message} ${limits.bytes} bytes in total`,
  )
}

const toPairs = (entries: readonly Metadata[]) =>
  entries.map(({ key, value }) => [key, value] as const)

const metadataSetEvents = <E extends AnyEvent>(
  { setEvent: set }: Pick<MetadataOwner<E, never>, "setEvent">,
  entries: readonly Metadata[],
): readonly Draft<E>[] =>
  entries.map(({ key, value }) => set(key, Buffer.from(value).toString("base64")))

const invalidError = (id: string, message: string) => new Fault("invalid_argument", id, message)
