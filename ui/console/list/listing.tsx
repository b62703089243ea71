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
  isDenied,
  isHidden,
  language,
  queryOf,
  RefusalAlert,
  refusalOf,
  Section,
  t,
  useDebounced,
  useShown,
} from "../shell/index.ts"
import { type ListState, useListState } from "./list-state.ts"

const pageSize = 50

/** A page goes on below a list that is a section of it. */
const sectionSize = 10

/** A list that can be taken in at a glance is not searched. */
const glance = 8

/** What a reader wants to see of a list. */
export type ListQuery = {
  readonly text: string
  readonly offset: bigint
  readonly limit: number
  /** The `sort` of the column to sort by; empty where none can be chosen. */
  readonly by: string
  readonly asc: boolean
}

export type ListPage<Row> = { readonly rows: readonly Row[]; readonly total: number }

/** What operations take of it: which rows, and which way round. */
export const pageOf = ({ offset, limit, asc }: ListQuery) => ({ offset, limit, asc })

/** Rows, and how many there are in all. */
export const found = <Row,>(
  rows: readonly Row[],
  page: { readonly totalResult: bigint } | undefined,
): ListPage<Row> => ({ rows, total: Number(page?.totalResult ?? rows.length) })

/** A column that the list can be sorted by has a name for it, which `ask` understands. */
export type ListColumn<Row> = Column<Row> & { readonly sort?: string }

/** The last column: what can be done with a row. */
export const actionColumn = <Row,>(actions: (row: Row) => ReactNode): Column<Row> => ({
  label: "",
  cell: (row) => <div className="row-actions">{actions(row)}</div>,
})

export type ListingProps<I extends DescMessage, O extends DescMessage, Row> = {
  /** Names the list for screen readers. */
  readonly caption: string
  /** Tells it apart in the address from others on the page. */
  readonly name?: string
  readonly method: DescMethodUnary<I, O>
  readonly ask: (asked: ListQuery) => MessageInitShape<I>
  readonly within?: string
  readonly find: (answer: MessageShape<O>, asked: ListQuery) => ListPage<Row>
  readonly columns: readonly ListColumn<Row>[]
  readonly keyOf: (row: Row) => string
  readonly filters?: ReactNode
  readonly filtered?: boolean
  /** Its operation looks for no words. */
  readonly unsearched?: true
  /** How many rows are shown at a time. */
  readonly size?: number
  /** Its rows change without anybody here: it is read again while somebody looks at it. */
  readonly live?: true
  readonly empty: ReactNode
  /** What the list stands in, which stays away where one may not see it. */
  readonly frame?: (list: ReactNode) => ReactNode
}

type SectionListProps<I extends DescMessage, O extends DescMessage, Row> = Omit<
  ListingProps<I, O, Row>,
  "caption" | "empty" | "frame" | "size"
> & { readonly title: string; readonly none: string }

/** A list that is a section of a page; `none` says in a line that there is nothing. */
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

const bare = (list: ReactNode) => list

const liveMs = 3000

/** A list that is searched, sorted and paged; its address says how. */
export function Listing<I extends DescMessage, O extends DescMessage, Row>(
  props: ListingProps<I, O, Row>,
) {
  const { name, method, columns, filters, filtered, unsearched, frame = bare, find } = props
  const state = useListState(name)
  const { size = pageSize } = props
  const asked = askedOf(state, columns, size)
  const options = props.within === undefined ? {} : { within: props.within }
  const { data, error } = useQuery({
    ...queryOf(method, props.ask(asked), options),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { status } }) =>
      props.live && status === "success" ? liveMs : false,
  })
  useShown(data)
  const found = data && find(data, asked)
  const total = found?.total ?? 0
  useLastPage(state, size, found && total)
  const plain = asked.text === "" && !filtered
  const refusal = error ? refusalOf(error) : undefined
  if (refusal && props.frame && isHidden(refusal)) return null
  if (refusal && isDenied(refusal)) return <p className="quiet">{t("list.denied")}</p>
  if (found && total === 0 && plain) return <>{frame(props.empty)}</>
  const list = (
    <div className="stack">
      <div className="list-tools" hidden={plain && !filters && (unsearched || total < glance)}>
        {!unsearched && <Find state={state} />}
        {filters}
      </div>
      {refusal && !data ? <RefusalAlert refusal={refusal} /> : <Rows {...props} found={found} />}
      {total > size && <Pages state={state} size={size} total={total} at={Number(asked.offset)} />}
    </div>
  )
  return <>{frame(list)}</>
}

function askedOf<Row>(
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

/** The last row of the last page may have been removed. */
function useLastPage({ get, set }: ListState, size: number, total: number | undefined): void {
  const at = Number(get("at") ?? 0)
  const last = Math.max(0, Math.ceil((total ?? 0) / size) - 1) * size
  const isBeyond = total !== undefined && at > last
  // biome-ignore lint/correctness/useExhaustiveDependencies: `set` is another with each rendering
  useEffect(() => {
    if (isBeyond) set({ at: last ? String(last) : undefined }, "quietly")
  }, [isBeyond, last])
}

/** What is typed is looked for once the hand rests; the address follows without a step back. */
function Find({ state: { get, set } }: { readonly state: ListState }) {
  const shown = get("q") ?? ""
  const [typed, setTyped] = useState(shown)
  const rested = useDebounced(typed, 150)
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what was typed is looked for
  useEffect(() => {
    if (rested !== shown) set({ q: rested || undefined, at: undefined }, "quietly")
  }, [rested])
  // Back, and links, change the address without anybody typing.
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

function Rows<I extends DescMessage, O extends DescMessage, Row>(props: RowsProps<I, O, Row>) {
  const { caption, name, columns, keyOf, found } = props
  const state = useListState(name)
  if (!found) return <Skeleton rows={6} label={t("list.loading")} />
  if (found.rows.length === 0) return <p className="quiet">{t("list.nothing")}</p>
  const { by, asc } = askedOf(state, columns, pageSize)
  const sorted = columns.map(({ sort, ...column }): Column<Row> => {
    if (!sort) return column
    const isThis = sort === by
    const turn = () => state.set({ by: sort, down: isThis && asc ? "1" : undefined, at: undefined })
    return { ...column, sorted: isThis ? (asc ? "ascending" : "descending") : "none", turn }
  })
  return <Table caption={caption} columns={sorted} rows={found.rows} keyOf={keyOf} />
}

type PagesProps = {
  readonly state: ListState
  readonly size: number
  readonly at: number
  readonly total: number
}

function Pages({ state: { set }, size, at, total }: PagesProps) {
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

/** At an end of the list it does nothing, and keeps the focus of who came there by it. */
function PageButton({ label, size, to, total, move }: PageButtonProps) {
  const isBeyond = to <= -size || to >= total
  return (
    <Button small aria-disabled={isBeyond} onClick={() => !isBeyond && move(to)}>
      {label}
    </Button>
  )
}
