import { type ReactNode, useState } from "react"
import { Alert } from "../kit/alert.tsx"
import { Button } from "../kit/button.tsx"
import { TextField } from "../kit/field.tsx"
import { Skeleton } from "../kit/skeleton.tsx"
import { type Column, Table } from "../kit/table.tsx"
import { useHouse } from "./house.ts"
import { type Readings, useJoined, useLoad, useRested } from "./load.ts"

const pageSize = 50

/** A list that can be taken in at a glance is not searched. */
const glance = 8

export type Asked = { readonly text: string; readonly offset: bigint; readonly limit: number }
export type Found<Row> = { readonly rows: readonly Row[]; readonly total: number }

export type ListingProps<Row> = {
  /** Names the list for screen readers and for what is loaded. */
  readonly caption: string
  /** What else the answer depends on: the organisation, the chosen chip. */
  readonly scope: string
  /** The readings that it is made again with; what is shown stays until then. */
  readonly with?: Readings
  readonly read: (asked: Asked, signal: AbortSignal) => Promise<Found<Row>>
  readonly columns: readonly Column<Row>[]
  readonly keyOf: (row: Row) => string
  readonly filters?: ReactNode
  readonly filtered?: boolean
  readonly empty: ReactNode
  /** What the list stands in, which stays away where one may not see it. */
  readonly frame?: (list: ReactNode) => ReactNode
}

const bare = (list: ReactNode) => list

/** A searchable list, fifty rows at a time. */
export function Listing<Row>(props: ListingProps<Row>) {
  const { caption, scope, with: readings, read, filters, filtered, frame = bare } = props
  const { t } = useHouse()
  const [text, setText] = useState("")
  const [page, setPage] = useState({ scope, at: 0 })
  const wanted = useRested(text.trim(), 150)
  const at = page.scope === scope ? page.at : 0
  const found = useLoad(caption + scope, `${wanted}\n${at}`, (signal) =>
    read({ text: wanted, offset: BigInt(at), limit: pageSize }, signal),
  )
  useJoined(readings, found.reload)
  const total = found.status === "ready" ? found.value.total : 0
  const plain = text === "" && wanted === "" && !filtered
  // The last row of the last page may have been removed.
  const last = Math.max(0, Math.ceil(total / pageSize) - 1) * pageSize
  if (found.status === "ready" && at > last) setPage({ scope, at: last })
  if (found.status === "failed" && found.denied && props.frame) return null
  if (found.status === "ready" && total === 0 && plain) return <>{frame(props.empty)}</>
  const list = (
    <div className="stack">
      <div className="list-tools" hidden={plain && !filters && total < glance}>
        <TextField
          label={t("list.search")}
          placeholder={t("list.search")}
          type="search"
          value={text}
          onChange={(event) => {
            setText(event.target.value)
            setPage({ scope, at: 0 })
          }}
          maxLength={200}
        />
        {filters}
      </div>
      <Answer {...props} found={found} />
      {total > pageSize && (
        <Pages at={at} total={total} onMove={(next) => setPage({ scope, at: next })} />
      )}
    </div>
  )
  return <>{frame(list)}</>
}

type AnswerProps<Row> = ListingProps<Row> & {
  readonly found: ReturnType<typeof useLoad<Found<Row>>>
}

function Answer<Row>({ caption, columns, keyOf, found }: AnswerProps<Row>) {
  const { t } = useHouse()
  if (found.status === "loading") return <Skeleton rows={6} label={t("list.loading")} />
  if (found.status === "failed") return <Alert tone="danger">{found.message}</Alert>
  if (found.value.rows.length === 0) return <p className="quiet">{t("list.nothing")}</p>
  return <Table caption={caption} columns={columns} rows={found.value.rows} keyOf={keyOf} />
}

type PagesProps = {
  readonly at: number
  readonly total: number
  readonly onMove: (at: number) => void
}

function Pages({ at, total, onMove }: PagesProps) {
  const { t, language } = useHouse()
  const format = new Intl.NumberFormat(language)
  const values = {
    from: format.format(at + 1),
    to: format.format(Math.min(at + pageSize, total)),
    total: format.format(total),
  }
  return (
    <div className="list-foot">
      <span>{t("list.range", values)}</span>
      <Button small disabled={at === 0} onClick={() => onMove(Math.max(0, at - pageSize))}>
        {t("list.previous")}
      </Button>
      <Button small disabled={at + pageSize >= total} onClick={() => onMove(at + pageSize)}>
        {t("list.next")}
      </Button>
    </div>
  )
}
