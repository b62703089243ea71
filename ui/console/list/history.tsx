import { createQueryOptions } from "@connectrpc/connect-query"
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { type Change, HistoryService } from "../../../src/gen/core/history/v2/history_service_pb.ts"
import { Button, type Column, Table } from "../../kit/index.ts"
import { isHidden, RefusalAlert, refusalOf, Section, t, transport } from "../shell/index.ts"
import { ChangesSinceButton } from "./changes-since.tsx"
import { Differences } from "./differences.tsx"
import { Editor } from "./editor.tsx"
import type { HistoryResource } from "./history-resource.ts"
import { actionColumn } from "./listing.tsx"
import { Time } from "./time.tsx"
import { UndoButton } from "./undo.tsx"

const initialSize = 5
const moreSize = 50

type HistoryProps = {
  readonly of: HistoryResource
  /** The subject, if a page has several histories. */
  readonly subject?: string
}

/** Changes of a resource with author and details, newest first. */
export function History({ of, subject }: HistoryProps) {
  const title = subject === undefined ? t("history.title") : `${t("history.title")}: ${subject}`
  const [limit, setLimit] = useState(initialSize)
  const [sequence, setSequence] = useState(0n)
  const { data, error } = useQuery({
    // One extra row shows whether there are more.
    ...createQueryOptions(
      HistoryService.method.listChanges,
      { resource: { resource: of }, limit: limit + 1, sequence },
      { transport },
    ),
    placeholderData: keepPreviousData,
  })
  const refusal = error ? refusalOf(error) : undefined
  if (refusal ? isHidden(refusal) : !data) return null
  const found = data?.changes ?? []
  const rows = found.slice(0, limit)
  const more = () => {
    if (limit > initialSize) setSequence(rows.at(-1)?.sequence ?? 0n)
    setLimit(moreSize)
  }
  return (
    <Section title={title}>
      <RefusalAlert refusal={refusal} />
      {rows.length === 0 && !refusal && <p className="quiet">{t("history.none")}</p>}
      {rows.length > 0 && (
        <Table
          caption={title}
          columns={historyColumns(of)}
          rows={rows}
          keyOf={(change) => String(change.sequence)}
        />
      )}
      <div className="row">
        {sequence > 0n && <Button onClick={() => setSequence(0n)}>{t("history.newest")}</Button>}
        {found.length > limit && <Button onClick={more}>{t("history.more")}</Button>}
      </div>
    </Section>
  )
}

function historyColumns(of: HistoryResource): readonly Column<Change>[] {
  return [
    { label: t("history.what"), cell: (change) => <ChangeSummary change={change} /> },
    { label: t("history.who"), cell: (change) => <ChangeAuthor change={change} /> },
    { label: t("history.when"), cell: ({ changeDate }) => <Time at={changeDate} /> },
    actionColumn((change) => (
      <>
        <ChangesSinceButton of={of} change={change} />
        <UndoButton of={of} change={change} subject={change.words} />
      </>
    )),
  ]
}

type RowProps = { readonly change: Change }

function ChangeSummary({ change: { words, differences, sequence } }: RowProps) {
  return (
    <div className="call">
      <span>{words}</span>
      {/* All fields of a new resource are new, so they are not listed. */}
      {sequence > 1n && <Differences rows={differences} />}
    </div>
  )
}

function ChangeAuthor({ change }: RowProps) {
  const { clientName = "" } = change.editor ?? {}
  const proof = proofOf(change)
  return (
    <div className="call">
      <Editor {...change.editor} />
      {clientName && <bdi className="quiet small clip">{clientName}</bdi>}
      {proof && <span className="quiet small clip">{t(proof)}</span>}
    </div>
  )
}

/** How users who had no session proved that they may set their password. */
function proofOf({ payload }: Change) {
  if (payload?.proof === "code") return "history.by_code"
  return payload?.proof === "invitation" ? "history.by_invitation" : undefined
}
