import { useState } from "react"
import type { ListRefusedRequestsResponse } from "../../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { Alert } from "../../kit/alert.tsx"
import { Button } from "../../kit/button.tsx"
import { EmptyState } from "../../kit/empty-state.tsx"
import { TextField } from "../../kit/field.tsx"
import { Skeleton } from "../../kit/skeleton.tsx"
import { useHouse } from "../house.ts"
import { LinkButton } from "../link.tsx"
import { type Loaded, useLoad } from "../load.ts"
import { PageFrame } from "../page-frame.tsx"
import { RefusedList } from "../refused/refused-list.tsx"
import { go } from "../route.ts"

const pageSize = 10

type PageProps = { readonly requestId?: string | undefined }

/** Why requests were refused: the one that somebody was given the number of, or the latest. */
export function RefusedRequestsPage({ requestId = "" }: PageProps) {
  const { t, core } = useHouse()
  const [limit, setLimit] = useState(pageSize)
  const found = useLoad(`refused ${requestId}`, String(limit), (signal) =>
    core.diagnosis.listRefusedRequests({ requestId, pagination: { limit } }, { signal }),
  )
  const list = { label: t("nav.refused-requests"), to: { page: "refused-requests" } as const }
  const again = <Button onClick={found.reload}>{t("action.reload")}</Button>
  return (
    <PageFrame
      title={requestId === "" ? list.label : t("refused.one")}
      crumbs={requestId === "" ? [] : [list]}
      actions={requestId === "" && again}
    >
      <Lookup key={requestId} requestId={requestId} />
      <Answer found={found} requestId={requestId} />
      {found.status === "ready" && limit === pageSize && hasMore(found.value) && (
        <div className="row">
          <Button onClick={() => setLimit(100)}>{t("refused.more")}</Button>
        </div>
      )}
    </PageFrame>
  )
}

const hasMore = ({ pagination }: ListRefusedRequestsResponse) =>
  Number(pagination?.totalResult ?? 0) > pageSize

function Lookup({ requestId }: { readonly requestId: string }) {
  const { t } = useHouse()
  const [typed, setTyped] = useState(requestId)
  return (
    <search>
      <form
        className="lookup"
        onSubmit={(event) => {
          event.preventDefault()
          const wanted = typed.trim()
          go(
            wanted ? { page: "refused-requests", requestId: wanted } : { page: "refused-requests" },
          )
        }}
      >
        <TextField
          label={t("field.request_id")}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          inputMode="numeric"
          autoComplete="off"
          maxLength={40}
        />
        <Button type="submit">{t("refused.find")}</Button>
        <p className="field-hint">{t("refused.lookup_hint")}</p>
      </form>
    </search>
  )
}

type AnswerProps = {
  readonly found: Loaded<ListRefusedRequestsResponse>
  readonly requestId: string
}

function Answer({ found, requestId }: AnswerProps) {
  const { t } = useHouse()
  if (found.status === "loading") return <Skeleton rows={4} label={t("list.loading")} />
  if (found.status === "failed") return <Alert tone="danger">{found.message}</Alert>
  if (found.value.refusedRequests.length > 0) {
    return (
      <>
        <RefusedList requests={found.value.refusedRequests} />
        <p className="quiet small">{t("refused.kept")}</p>
      </>
    )
  }
  if (requestId === "") {
    return <EmptyState title={t("refused.empty.title")}>{t("refused.empty.text")}</EmptyState>
  }
  const all = <LinkButton to={{ page: "refused-requests" }}>{t("refused.all")}</LinkButton>
  return (
    <EmptyState title={t("refused.missing.title")} action={all}>
      {t("refused.missing.text")}
    </EmptyState>
  )
}
