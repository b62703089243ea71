import type {
  DescMessage,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from "@bufbuild/protobuf"
import { createQueryOptions } from "@connectrpc/connect-query"
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import type { Change } from "../../../src/gen/core/change/v1/change_pb.ts"
import { Button } from "../../kit/button.tsx"
import { type Column, Table } from "../../kit/table.tsx"
import { within } from "../shell/call.ts"
import { Section } from "../shell/detail.tsx"
import { Link } from "../shell/link.tsx"
import { isHidden, refusalOf } from "../shell/refusal.ts"
import { Refused } from "../shell/refused.tsx"
import { useText } from "../shell/text.ts"
import type { Texts } from "../shell/texts/index.ts"
import { transport } from "../shell/transport.ts"
import { Time } from "./time.tsx"

type HistoryProps<I extends DescMessage, O extends DescMessage> = {
  readonly method: DescMethodUnary<I, O>
  readonly ask: (query: { readonly limit: number }) => MessageInitShape<I>
  readonly within?: string
  readonly find: (answer: MessageShape<O>) => readonly Change[]
}

const first = 5
const step = 50

/** What happened to a thing and who did it, the newest first. */
export function History<I extends DescMessage, O extends DescMessage>(props: HistoryProps<I, O>) {
  const { method, ask, find } = props
  const texts = useText()
  const { t } = texts
  const [limit, setLimit] = useState(first)
  const options = { transport, ...within(props.within) }
  const { data, error } = useQuery({
    // One more than is shown tells whether there are more.
    ...createQueryOptions(method, ask({ limit: limit + 1 }), options),
    placeholderData: keepPreviousData,
  })
  const refusal = error ? refusalOf(error) : undefined
  if (refusal ? isHidden(refusal) : !data) return null
  const rows = data ? find(data) : []
  return (
    <Section title={t("history.title")}>
      <Refused refusal={refusal} />
      <Table
        caption={t("history.title")}
        columns={columnsOf(texts)}
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

const columnsOf = ({ t }: Texts): readonly Column<Change>[] => [
  { label: t("history.what"), cell: (change) => <What change={change} /> },
  { label: t("history.who"), cell: (change) => <Who change={change} /> },
  { label: t("history.when"), cell: ({ changeDate }) => <Time at={changeDate} /> },
]

type RowProps = { readonly change: Change }

/** In the reader's language where the catalogue knows what it was, else in the server's words. */
function What({ change }: RowProps) {
  const { t, has } = useText()
  const { key = "", localizedMessage = "" } = change.eventType ?? {}
  const text = `event.${key.replace("EventTypes.", "")}`
  return has(text) ? t(text) : <span lang="en">{localizedMessage}</span>
}

function Who({ change }: RowProps) {
  const { editorId: userId, editorDisplayName, editorPreferredLoginName } = change
  const name = editorDisplayName || editorPreferredLoginName
  if (!name) return <span className="quiet">{userId}</span>
  return (
    <Link to="/users/$userId" params={{ userId }}>
      <bdi className="clip">{name}</bdi>
    </Link>
  )
}
