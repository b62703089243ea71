import { Fault } from "./fault.ts"

/** A window of a sorted list. */
export type Page = { readonly offset: number; readonly limit: number; readonly asc: boolean }

/** A search result: the rows of the page, and the number of all rows that the caller may see. */
export type SearchResult<Row> = {
  readonly rows: readonly Row[]
  readonly total: number
  readonly limit: number
}

export const maxLimit = 1000
export const defaultLimit = 100

/**
 * Parses a list query (v1 `query`, v2 `pagination`). Rejects a limit above the maximum instead of
 * reducing it, so that clients don't take a part for the whole.
 */
export function parsePage(
  query: { offset?: bigint; limit?: number; asc?: boolean } | undefined,
): Page {
  const limit = query?.limit ?? 0
  if (limit > maxLimit) {
    throw new Fault(
      "invalid_argument",
      "page.limit_too_large",
      `limit must be at most ${maxLimit}, got ${limit}; use offset to read more pages`,
    )
  }
  const offset = query?.offset ?? 0n
  if (offset < 0n || offset > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new Fault("invalid_argument", "page.offset_out_of_range", "offset is out of range")
  }
  return { offset: Number(offset), limit: limit || defaultLimit, asc: query?.asc ?? false }
}
