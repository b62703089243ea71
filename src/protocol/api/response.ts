import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt"
import { Fault } from "../../kernel/fault.ts"
import type { SearchResult } from "../../kernel/page.ts"

/** A time as a protobuf message. */
export const toTimestamp = (ms: number): Timestamp => timestampFromMs(ms)

/**
 * The details of a resource, as v1 and older v2 services return them; without a date if it is
 * absent.
 */
export const toDetails = (state: {
  readonly version: number
  readonly created: number
  readonly changed: number
  readonly owner: string
}) => ({
  sequence: BigInt(state.version),
  ...(state.version > 0 && {
    creationDate: toTimestamp(state.created),
    changeDate: toTimestamp(state.changed),
  }),
  resourceOwner: state.owner,
})

/** Total and limit of a search, as newer v2 services return them. */
export const toPagination = ({ total, limit }: SearchResult<unknown>) => ({
  totalResult: BigInt(total),
  appliedLimit: BigInt(limit),
})

/** The response to a removal; without a date if there was nothing to remove. */
export const toDeletion = (receipt: { readonly changed: number } | undefined) =>
  receipt ? { deletionDate: toTimestamp(receipt.changed) } : {}

/** The meaning of an enum number; rejects unknown numbers. */
export function valueOfEnum<T>(
  table: readonly T[] | Readonly<Record<number, T>>,
  value: number,
): T {
  const found = table[value]
  if (found !== undefined) return found
  throw new Fault("invalid_argument", "request.enum_unknown", `${value} is not a known value`)
}

/** An empty filter can't be distinguished from one that a client failed to fill. */
export const filterMissingError = (): Fault =>
  new Fault("invalid_argument", "search.filter_empty", "a filter of the search is empty")
