import { Fault } from "./fault.ts"

/** A window of a sorted list. */
export type Page = { readonly offset: number; readonly limit: number; readonly asc: boolean }

/** What a search answers: the rows of the window and the count of all rows the caller may see. */
export type Found<Row> = {
  readonly rows: readonly Row[]
  readonly total: number
  readonly limit: number
}

export const limitMax = 1000
export const limitDefault = 100

/**
 * Reads a list query (v1 `query`, v2 `pagination`). A limit above the maximum is refused rather
 * than cut, so that nobody takes a part for the whole.
 */
export function pageOf(
  query: { offset?: bigint; limit?: number; asc?: boolean } | undefined,
): Page {
  const limit = query?.limit ?? 0
  if (limit > limitMax) {
    throw new Fault(
      "invalid_argument",
      "page.limit_too_large",
      `limit must be at most ${limitMax}, ${limit} was given; use offset to read further pages`,
    )
  }
  const offset = query?.offset ?? 0n
  if (offset < 0n || offset > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new Fault("invalid_argument", "page.offset_out_of_range", "offset is out of range")
  }
  return { offset: Number(offset), limit: limit || limitDefault, asc: query?.asc ?? false }
}
