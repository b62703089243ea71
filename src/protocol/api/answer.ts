import { type Timestamp, timestampFromMs } from "@bufbuild/protobuf/wkt"
import { Fault } from "../../kernel/fault.ts"
import type { Found } from "../../kernel/page.ts"

/** A time as messages carry it. */
export const at = (ms: number): Timestamp => timestampFromMs(ms)

/** Where a resource stands, as v1 and the older services of v2 say it; no date where it is not. */
export const details = (stand: {
  readonly version: number
  readonly created: number
  readonly changed: number
  readonly owner: string
}) => ({
  sequence: BigInt(stand.version),
  ...(stand.version > 0 && { creationDate: at(stand.created), changeDate: at(stand.changed) }),
  resourceOwner: stand.owner,
})

/** What was found and how much of it is shown, as the newer services of v2 say it. */
export const pagination = ({ total, limit }: Found<unknown>) => ({
  totalResult: BigInt(total),
  appliedLimit: BigInt(limit),
})

/** The answer of a removal; without a date where there was nothing to remove. */
export const deletion = (receipt: { readonly changed: number } | undefined) =>
  receipt ? { deletionDate: at(receipt.changed) } : {}

/** What a number of an enum stands for; refuses numbers that the book does not know. */
export function meaning<T>(table: readonly T[] | Readonly<Record<number, T>>, value: number): T {
  const found = table[value]
  if (found !== undefined) return found
  throw new Fault("invalid_argument", "request.enum_unknown", `${value} is not a known value`)
}

/** A filter that says nothing can't be told from one that a client failed to fill. */
export const filterMissingError = (): Fault =>
  new Fault("invalid_argument", "search.filter_empty", "a filter of the search is empty")
