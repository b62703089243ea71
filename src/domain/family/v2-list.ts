import { timestampMs } from "@bufbuild/protobuf/wkt"
import { type TimestampFilter, TimestampFilterMethod } from "../../gen/core/filter/v2/filter_pb.ts"
import type { Fault } from "../../kernel/fault.ts"
import { pageOf } from "../../kernel/page.ts"
import { filterMissingError, meaning, pagination } from "../../protocol/api/answer.ts"
import { type Cx, type Filter, type Searchable, search } from "../../store/index.ts"

type List<Row, SearchFilter, Shown> = {
  readonly table: Searchable
  /** By the number of the field that the list is sorted by; 0 where the request names none. */
  readonly columns: Readonly<Record<number, string>>
  readonly filterOf: (filter: SearchFilter) => Filter
  readonly shown: (row: Row) => Shown
}

type ListRequest<SearchFilter> = {
  readonly pagination?: Parameters<typeof pageOf>[0]
  readonly sortingColumn?: number | undefined
  readonly filters: readonly SearchFilter[]
}

/** A list of version 2: one page of the rows that its caller may see. */
export const listOf =
  <Row, SearchFilter, Shown>({ table, columns, filterOf, shown }: List<Row, SearchFilter, Shown>) =>
  async (cx: Cx, req: ListRequest<SearchFilter>) => {
    const found = await search<Row>(cx, table, {
      page: pageOf(req.pagination),
      sort: meaning(columns, req.sortingColumn ?? 0),
      filters: req.filters.map(filterOf),
    })
    return { pagination: pagination(found), rows: found.rows.map(shown) }
  }

type Time = Pick<TimestampFilter, "method" | "timestamp">

/** Compares a column of times, ms UTC; a filter without a time is rejected with `missingError`. */
export function timeFilter(
  column: string,
  { timestamp, method }: Time,
  missingError: () => Fault = filterMissingError,
): Filter {
  if (!timestamp) throw missingError()
  const value = timestampMs(timestamp)
  const by = meaning(comparisons, method)
  return by === "=" ? { equals: column, value } : { compare: column, by, value }
}

const comparisons = {
  [TimestampFilterMethod.EQUALS]: "=",
  [TimestampFilterMethod.AFTER]: ">",
  [TimestampFilterMethod.AFTER_OR_EQUALS]: ">=",
  [TimestampFilterMethod.BEFORE]: "<",
  [TimestampFilterMethod.BEFORE_OR_EQUALS]: "<=",
} as const
