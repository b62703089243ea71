import type { MessageInitShape } from "@bufbuild/protobuf"
import { useState } from "react"
import type { Change, ChangeQuerySchema } from "../../src/gen/core/change/v1/change_pb.ts"
import { Alert } from "../kit/alert.tsx"
import { Button } from "../kit/button.tsx"
import { type Column, Table } from "../kit/table.tsx"
import { Section } from "./detail.tsx"
import { useHouse } from "./house.ts"
import { Link } from "./link.tsx"
import { type Readings, useJoined, useLoad } from "./load.ts"
import { type TextKey, texts } from "./texts/index.ts"
import { Time } from "./time.tsx"

type Query = { readonly query: MessageInitShape<typeof ChangeQuerySchema> }

type HistoryProps = {
  /** What it happened to. */
  readonly about: string
  readonly readings: Readings
  readonly read: (
    part: Query,
    options: { readonly signal: AbortSignal },
  ) => Promise<{ readonly result: readonly Change[] }>
}

const first = 5
const step = 50

/** What happened to a thing and who did it, the newest first. */
export function History({ about, readings, read }: HistoryProps) {
  const { t } = useHouse()
  const [limit, setLimit] = useState(first)
  // One more than is shown tells whether there are more.
  const found = useLoad(`history ${about}`, String(limit), (signal) =>
    read({ query: { limit: limit + 1 } }, { signal }),
  )
  useJoined(readings, found.reload)
  if (found.status === "loading" || (found.status === "failed" && found.denied)) return null
  const rows = found.status === "ready" ? found.value.result : []
  return (
    <Section title={t("history.title")}>
      {found.status === "failed" && <Alert tone="danger">{found.message}</Alert>}
      <Table
        caption={t("history.title")}
        columns={columnsOf(t)}
        rows={rows.slice(0, limit)}
        keyOf={({ sequence }) => String(sequence)}
      />
      {rows.length > limit && (
        <div className="row">
          <Button onClick={() => setLimit(limit + step)}>{t("history.more")}</Button>
        </div>
      )}
    </Section>
  )
}

const columnsOf = (t: ReturnType<typeof useHouse>["t"]): readonly Column<Change>[] => [
  { label: t("history.what"), cell: (change) => <What change={change} /> },
  { label: t("history.who"), cell: (change) => <Who change={change} /> },
  { label: t("history.when"), cell: ({ changeDate }) => <Time at={changeDate} /> },
]

type RowProps = { readonly change: Change }

/** In the reader's language where the catalogue knows what it was, else in the server's words. */
function What({ change }: RowProps) {
  const { t } = useHouse()
  const { key = "", localizedMessage = "" } = change.eventType ?? {}
  const text = `event.${key.replace("EventTypes.", "")}`
  return isText(text) ? t(text) : <span lang="en">{localizedMessage}</span>
}

const isText = (key: string): key is TextKey => Object.hasOwn(texts.en, key)

function Who({ change }: RowProps) {
  const { editorId: userId, editorDisplayName, editorPreferredLoginName } = change
  const name = editorDisplayName || editorPreferredLoginName
  if (!name) return <span className="quiet">{userId}</span>
  return (
    <Link to={{ page: "user", userId }}>
      <bdi className="clip">{name}</bdi>
    </Link>
  )
}
