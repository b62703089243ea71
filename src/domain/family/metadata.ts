import { Fault } from "../../kernel/fault.ts"
import { givenName } from "../../kernel/text/given.ts"
import type { Aggregate, AnyEvent, Cx, Draft, Receipt, Transaction } from "../../store/index.ts"

/** What others store about a user or an organization: a key, and any bytes. */
export type Metadata = { readonly key: string; readonly value: Uint8Array }

/** What has metadata. */
export type MetadataOwner<E extends AnyEvent, State> = {
  readonly kind: Aggregate<E, State>
  /** As the text of an error names one. */
  readonly noun: string
  readonly mustExist: (state: State) => void
  /** The rows of one owner, by key: they change with its stream, so a step sees its own. */
  readonly held: (cx: Cx, id: string) => ReadonlyMap<string, Uint8Array>
  /** The event that stores a value, in base64. */
  readonly set: (key: string, value: string) => Draft<E>
  readonly removed: (key: string) => Draft<E>
  readonly errorIds: Readonly<Record<"missing" | "tooLong" | "tooMuch" | "twice", string>>
}

const valueMax = 500_000

/** Of one owner; an application with the scope for it receives all of a user's metadata. */
const most = { keys: 500, bytes: 5_000_000 } as const

/** The commands for the metadata of one kind of owner. */
export function metadataOf<E extends AnyEvent, State>(owner: MetadataOwner<E, State>) {
  const { kind, mustExist, held, errorIds } = owner
  const missingError = () => invalidError(errorIds.missing, "name at least one key of metadata")

  /** Adds to a larger step what sets the entries; an entry that has this value changes nothing. */
  function setWithin(cx: Cx, tx: Transaction, id: string, metadata: readonly Metadata[]): void {
    mustExist(tx.state(kind, id))
    if (metadata.length === 0) return
    const entries = checked(owner, metadata)
    const before = held(cx, id)
    const changed = entries.filter(({ key, value }) => {
      const present = before.get(key)
      return !present || !Buffer.from(present).equals(value)
    })
    mustFit(owner, new Map([...before, ...pairs(changed)]))
    tx.append(kind, id, setDrafts(owner, changed))
  }

  return {
    /** Events for an owner that has no metadata yet; faults where there are too many entries. */
    first: (metadata: readonly Metadata[]): readonly Draft<E>[] => {
      const entries = checked(owner, metadata)
      mustFit(owner, new Map(pairs(entries)))
      return setDrafts(owner, entries)
    },
    setWithin,
    set: async (cx: Cx, id: string, metadata: readonly Metadata[]): Promise<Receipt> => {
      if (metadata.length === 0) throw missingError()
      const step = await cx.store.transact(cx, (tx) => setWithin(cx, tx, id, metadata))
      return step.receipt(kind, id)
    },
    /** Ignores keys that are not set. Returns undefined where none of them was. */
    remove: async (cx: Cx, id: string, keys: readonly string[]): Promise<Receipt | undefined> => {
      if (keys.length === 0) throw missingError()
      const step = await cx.store.transact(cx, (tx) => {
        mustExist(tx.state(kind, id))
        const before = held(cx, id)
        const removed = [...new Set(keys)].filter((key) => before.has(key)).map(owner.removed)
        tx.append(kind, id, removed)
        return removed.length
      })
      return step.value === 0 ? undefined : step.receipt(kind, id)
    },
  }
}

type Texts = Pick<MetadataOwner<never, never>, "errorIds" | "noun">

/** Each key once, and no value too long. */
function checked({ errorIds }: Texts, metadata: readonly Metadata[]): readonly Metadata[] {
  const entries = metadata.map(({ key, value }) => ({ key: givenName("metadata.key", key), value }))
  if (new Set(entries.map(({ key }) => key)).size < entries.length) {
    throw invalidError(errorIds.twice, "name each key of the metadata once")
  }
  if (entries.some(({ value }) => value.length > valueMax)) {
    throw invalidError(errorIds.tooLong, `a value may have at most ${valueMax} bytes`)
  }
  return entries
}

function mustFit({ errorIds, noun }: Texts, all: ReadonlyMap<string, Uint8Array>): void {
  const bytes = [...all.values()].reduce((sum, value) => sum + value.length, 0)
  if (all.size <= most.keys && bytes <= most.bytes) return
  const message = `${noun} may have at most ${most.keys} keys of metadata, and`
  throw new Fault("failed_precondition", errorIds.tooMuch, `${message} ${most.bytes} bytes in all`)
}

const pairs = (entries: readonly Metadata[]) =>
  entries.map(({ key, value }) => [key, value] as const)

const setDrafts = <E extends AnyEvent>(
  { set }: Pick<MetadataOwner<E, never>, "set">,
  entries: readonly Metadata[],
): readonly Draft<E>[] =>
  entries.map(({ key, value }) => set(key, Buffer.from(value).toString("base64")))

const invalidError = (id: string, message: string) => new Fault("invalid_argument", id, message)
