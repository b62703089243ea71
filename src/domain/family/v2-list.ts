import { timestampMs } from "@bufbuild/protobuf/wkt"
import { type TimestampFilter, TimestampFilterMethod } from "../../gen/core/filter/v2/filter_pb.ts"
import type { Fault } from "../../kernel/fault.ts"
import { parsePage } from "../../kernel/page.ts"
import { filterMissingError, toPagination, valueOfEnum } from "../../protocol/api/response.ts"
import { type Cx, type Filter, type Searchable, search } from "../../store/index.ts"

type ListOptions<Row, SearchFilter, Resource> = {
  readonly table: Searchable
  /** By number of the sorting field; 0 if the request has none. */
  readonly columns: Readonly<Record<number, string>>
  readonly filterOf: (filter: SearchFilter) => Filter
  readonly shown: (row: Row) => Resource
}

type ListRequest<SearchFilter> = {
  readonly pagination?: Parameters<typeof parsePage>[0]
  readonly sortingColumn?: number | undefined
  readonly filters: readonly SearchFilter[]
}

/** An operation of version 2 that lists one page of the rows that the caller can see. */
export const listOf =
  <Row, SearchFilter, Resource>({
    table,
    columns,
    filterOf,
    shown,
  }: ListOptions<Row, SearchFilter, Resource>) =>
  async (cx: Cx, req: ListRequest<SearchFilter>) => {
    const result = await search<Row>(cx, table, {
      page: parsePage(req.pagination),
      sort: valueOfEnum(columns, req.sortingColumn ?? 0),
      filters: req.filters.map(filterOf),
    })
    return { pagination: toPagination(result), rows: result.rows.map(shown) }
  }

type TimeCondition = Pick<TimestampFilter, "method" | "timestamp">

/** Compares a column of times (ms UTC). Rejects a filter without a time with `missingError`. */
export function timeFilter(
  column: string,
  { timestamp, method }: TimeCondition,
  missingError: () => Fault = filterMissingError,
): Filter {
  if (!timestamp) throw missingError()
  const value = timestampMs(timestamp)
  const by = valueOfEnum(comparisons, method)
  return by === "=" ? { equals: column, value } : { compare: column, by, value }
}

const comparisons = {
  [TimestampFilterMethod.EQUALS]: "=",
  [TimestampFilterMethod.AFTER]: ">",
  [TimestampFilterMethod.AFTER_OR_EQUALS]: ">=",
  [TimestampFilterMethod.BEFORE]: "<",
  [TimestampFilterMethod.BEFORE_OR_EQUALS]: "<=",
} as const
