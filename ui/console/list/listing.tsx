import type {
  DescMessage,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf"
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { type ReactNode, useEffect, useState } from "react"
import { Button, type Column, Skeleton, Table, TextField } from "../../kit/index.ts"
import {
  createQueryOptionsFor,
  isDenied,
  isHidden,
  language,
  RefusalAlert,
  refusalOf,
  Section,
  t,
  useDebounced,
  useShownMessage,
} from "../shell/index.ts"
import { type ListState, useListState } from "./list-state.ts"

const pageSize = 50

/** Sections have fewer rows than pages. */
const sectionSize = 10

/** Shorter lists have no search field. */
const searchableFrom = 8

/** The displayed part of a list. */
export type ListQuery = {
  readonly text: string
  readonly offset: bigint
  readonly limit: number
  /** The `sort` of the sorted column; empty if the list can't be sorted. */
  readonly by: string
  readonly asc: boolean
}

export type ListPage<Row> = { readonly rows: readonly Row[]; readonly total: number }

/** The pagination fields of a request. */
export const paginationOf = ({ offset, limit, asc }: ListQuery) => ({ offset, limit, asc })

/** The rows, and the total number. */
export const toPage = <Row,>(
  rows: readonly Row[],
  page: { readonly totalResult: bigint } | undefined,
): ListPage<Row> => ({ rows, total: Number(page?.totalResult ?? rows.length) })

/** A sortable column has a `sort` name that `toRequest` translates. */
export type ListColumn<Row> = Column<Row> & { readonly sort?: string }

/** The last column, with actions for a row. */
export const actionColumn = <Row,>(actions: (row: Row) => ReactNode): Column<Row> => ({
  label: "",
  cell: (row) => <div className="row-actions">{actions(row)}</div>,
})

export type ListingProps<I extends DescMessage, O extends DescMessage, Row> = {
  /** The accessible name of the list. */
  readonly caption: string
  /** Distinguishes lists in the URL of the page. */
  readonly name?: string
  readonly method: DescMethodUnary<I, O>
  readonly toRequest: (query: ListQuery) => MessageInitShape<I>
  readonly within?: string
  readonly find: (answer: MessageShape<O>, query: ListQuery) => ListPage<Row>
  readonly columns: readonly ListColumn<Row>[]
  readonly keyOf: (row: Row) => string
  readonly filters?: ReactNode
  readonly filtered?: boolean
  /** Set if the operation has no text search. */
  readonly unsearched?: true
  /** Number of rows per page. */
  readonly size?: number
  /** Set if rows change without user actions; the list is then refetched periodically. */
  readonly live?: true
  readonly empty: ReactNode
  /** A container that is hidden with the list if the caller can't read it. */
  readonly frame?: (list: ReactNode) => ReactNode
}

type SectionListProps<I extends DescMessage, O extends DescMessage, Row> = Omit<
  ListingProps<I, O, Row>,
  "caption" | "empty" | "frame" | "size"
> & { readonly title: string; readonly none: string }

/** A list in a section of a page; `none` is the text if it is empty. */
export function SectionList<I extends DescMessage, O extends DescMessage, Row>(
  props: SectionListProps<I, O, Row>,
) {
  const { title, none, ...list } = props
  return (
    <Listing
      {...list}
      size={sectionSize}
      caption={title}
      empty={<p className="quiet section-lead">{none}</p>}
      frame={(rows) => <Section title={title}>{rows}</Section>}
    />
  )
}

const withoutFrame = (list: ReactNode) => list

const liveMs = 3000

/** A list with search, sorting and pagination, stored in the URL. */
export function Listing<I extends DescMessage, O extends DescMessage, Row>(
  props: ListingProps<I, O, Row>,
) {
  const { name, method, columns, filters, filtered, unsearched, frame = withoutFrame, find } = props
  const state = useListState(name)
  const { size = pageSize } = props
  const query = listQueryOf(state, columns, size)
  const options = props.within === undefined ? {} : { within: props.within }
  const { data, error } = useQuery({
    ...createQueryOptionsFor(method, props.toRequest(query), options),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { status } }) =>
      props.live && status === "success" ? liveMs : false,
  })
  useShownMessage(data)
  const found = data && find(data, query)
  const total = found?.total ?? 0
  useLastPage(state, size, found && total)
  const plain = query.text === "" && !filtered
  const refusal = error ? refusalOf(error) : undefined
  if (refusal && props.frame && isHidden(refusal)) return null
  if (refusal && isDenied(refusal)) return <p className="quiet">{t("list.denied")}</p>
  if (found && total === 0 && plain) return <>{frame(props.empty)}</>
  const list = (
    <div className="stack">
      <div
        className="list-tools"
        hidden={plain && !filters && (unsearched || total < searchableFrom)}
      >
        {!unsearched && <SearchField state={state} />}
        {filters}
      </div>
      {refusal && !data ? (
        <RefusalAlert refusal={refusal} />
      ) : (
        <ListRows {...props} found={found} />
      )}
      {total > size && (
        <Pagination state={state} size={size} total={total} at={Number(query.offset)} />
      )}
    </div>
  )
  return <>{frame(list)}</>
}

function listQueryOf<Row>(
  { get }: ListState,
  columns: readonly ListColumn<Row>[],
  limit: number,
): ListQuery {
  const sorts = columns.flatMap(({ sort }) => sort ?? [])
  const at = Number(get("at") ?? 0)
  return {
    text: (get("q") ?? "").trim().slice(0, 200),
    offset: BigInt(Number.isSafeInteger(at) && at > 0 ? at : 0),
    limit,
    by: sorts.find((sort) => sort === get("by")) ?? sorts[0] ?? "",
    asc: get("down") === undefined,
  }
}

/** Moves to the previous page if the last row of the last page was removed. */
function useLastPage({ get, set }: ListState, size: number, total: number | undefined): void {
  const at = Number(get("at") ?? 0)
  const last = Math.max(0, Math.ceil((total ?? 0) / size) - 1) * size
  const isBeyond = total !== undefined && at > last
  // biome-ignore lint/correctness/useExhaustiveDependencies: `set` changes with each rendering
  useEffect(() => {
    if (isBeyond) set({ at: last ? String(last) : undefined }, "quietly")
  }, [isBeyond, last])
}

/** Searches after a pause in typing and replaces the history entry. */
function SearchField({ state: { get, set } }: { readonly state: ListState }) {
  const shown = get("q") ?? ""
  const [typed, setTyped] = useState(shown)
  const rested = useDebounced(typed, 150)
  // biome-ignore lint/correctness/useExhaustiveDependencies: only typed text starts a search
  useEffect(() => {
    if (rested !== shown) set({ q: rested || undefined, at: undefined }, "quietly")
  }, [rested])
  // Back and links change the URL without typing.
  useEffect(() => setTyped(shown), [shown])
  return (
    <TextField
      label={t("list.search")}
      placeholder={t("list.search")}
      type="search"
      value={typed}
      onChange={(event) => setTyped(event.target.value)}
      maxLength={200}
    />
  )
}

type RowsProps<I extends DescMessage, O extends DescMessage, Row> = ListingProps<I, O, Row> & {
  readonly found: ListPage<Row> | undefined
}

function ListRows<I extends DescMessage, O extends DescMessage, Row>(props: RowsProps<I, O, Row>) {
  const { caption, name, columns, keyOf, found } = props
  const state = useListState(name)
  if (!found) return <Skeleton rows={6} label={t("list.loading")} />
  if (found.rows.length === 0) return <p className="quiet">{t("list.nothing")}</p>
  const { by, asc } = listQueryOf(state, columns, pageSize)
  const sorted = columns.map(({ sort, ...column }): Column<Row> => {
    if (!sort) return column
    const isThis = sort === by
    const toggleSort = () =>
      state.set({ by: sort, down: isThis && asc ? "1" : undefined, at: undefined })
    return { ...column, sorted: isThis ? (asc ? "ascending" : "descending") : "none", toggleSort }
  })
  return <Table caption={caption} columns={sorted} rows={found.rows} keyOf={keyOf} />
}

type PagesProps = {
  readonly state: ListState
  readonly size: number
  readonly at: number
  readonly total: number
}

function Pagination({ state: { set }, size, at, total }: PagesProps) {
  const format = new Intl.NumberFormat(language)
  const values = {
    from: format.format(at + 1),
    to: format.format(Math.min(at + size, total)),
    total: format.format(total),
  }
  const move = (to: number) => set({ at: to > 0 ? String(to) : undefined })
  return (
    <div className="list-foot">
      <span>{t("list.range", values)}</span>
      <PageButton label={t("list.previous")} to={at - size} size={size} total={total} move={move} />
      <PageButton label={t("list.next")} to={at + size} size={size} total={total} move={move} />
    </div>
  )
}

type PageButtonProps = {
  readonly label: string
  readonly size: number
  readonly to: number
  readonly total: number
  readonly move: (to: number) => void
}

/** Inactive at the end of the list, but not disabled, so that it keeps the focus. */
function PageButton({ label, size, to, total, move }: PageButtonProps) {
  const isBeyond = to <= -size || to >= total
  return (
    <Button small aria-disabled={isBeyond} onClick={() => !isBeyond && move(to)}>
      {label}
    </Button>
  )
}
