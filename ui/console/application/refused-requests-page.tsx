import { createQueryOptions } from "@connectrpc/connect-query"
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useNavigate, useParams } from "@tanstack/react-router"
import { type ReactNode, useState } from "react"
import { DiagnosisService } from "../../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { Button, EmptyState, Skeleton, TextField } from "../../kit/index.ts"
import { SearchForm } from "../form/index.ts"
import { RefusedList } from "../refused-request/refused-list.tsx"
import {
  LinkButton,
  Page,
  RefusalAlert,
  refusalOf,
  t,
  transport,
  useReload,
} from "../shell/index.ts"
import { RefusalRemedy } from "./refusal-remedy.tsx"

const pageSize = 10
const moreSize = 100

/** Rejected requests, newest first. */
export function RefusedRequestsPage() {
  const reload = useReload()
  const [limit, setLimit] = useState(pageSize)
  const again = <Button onClick={() => void reload()}>{t("action.reload")}</Button>
  const none = <EmptyState title={t("refused.empty.title")}>{t("refused.empty.text")}</EmptyState>
  return (
    <Page title={t("nav.refused-requests")} actions={again}>
      <Lookup requestId="" />
      <RefusedRequestList requestId="" limit={limit} none={none}>
        {limit === pageSize && (
          <div className="row">
            <Button onClick={() => setLimit(moreSize)}>{t("refused.more")}</Button>
          </div>
        )}
      </RefusedRequestList>
    </Page>
  )
}

/** One rejected request by its ID. */
export function RefusedRequestPage() {
  const { requestId } = useParams({ from: "/refused-requests/$requestId" })
  const list = { label: t("nav.refused-requests"), link: { to: "/refused-requests" } } as const
  const all = <LinkButton to="/refused-requests">{t("refused.all")}</LinkButton>
  const none = (
    <EmptyState title={t("refused.missing.title")} action={all}>
      {t("refused.missing.text")}
    </EmptyState>
  )
  return (
    <Page title={t("refused.one")} crumbs={[list]}>
      <Lookup key={requestId} requestId={requestId} />
      <RefusedRequestList requestId={requestId} limit={pageSize} none={none} />
    </Page>
  )
}

function Lookup({ requestId }: { readonly requestId: string }) {
  const navigate = useNavigate()
  const [typed, setTyped] = useState(requestId)
  const find = () => {
    const request = typed.trim()
    void (request
      ? navigate({ to: "/refused-requests/$requestId", params: { requestId: request } })
      : navigate({ to: "/refused-requests" }))
  }
  return (
    <SearchForm className="lookup" onSearch={find}>
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
    </SearchForm>
  )
}

type AnswerProps = {
  readonly requestId: string
  readonly limit: number
  readonly none: ReactNode
  /** Shown below the list while there are more entries. */
  readonly children?: ReactNode
}

function RefusedRequestList({ requestId, limit, none, children }: AnswerProps) {
  const request = { requestId, pagination: { limit } }
  const { data, error } = useQuery({
    ...createQueryOptions(DiagnosisService.method.listRefusedRequests, request, { transport }),
    placeholderData: keepPreviousData,
    staleTime: 0,
  })
  if (error) return <RefusalAlert refusal={refusalOf(error)} />
  if (!data) return <Skeleton rows={4} label={t("list.loading")} />
  if (data.refusedRequests.length === 0) return <>{none}</>
  return (
    <>
      <RefusedList requests={data.refusedRequests} Remedy={RefusalRemedy} />
      <p className="quiet small">{t("refused.kept")}</p>
      {Number(data.pagination?.totalResult ?? 0) > pageSize && children}
    </>
  )
}
