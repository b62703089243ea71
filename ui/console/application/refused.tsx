import { useState } from "react"
import { Alert } from "../../kit/alert.tsx"
import { Button } from "../../kit/button.tsx"
import { Section } from "../detail.tsx"
import { useHouse } from "../house.ts"
import { useLoad } from "../load.ts"
import { RefusedList } from "../refused/refused-list.tsx"
import type { ApplicationPart } from "./change.ts"

const first = 3
const more = 20

/** The latest requests of this application that were refused; what went well says nothing here. */
export function RefusedRequests({ application }: Pick<ApplicationPart, "application">) {
  const { t, core } = useHouse()
  const { applicationId } = application
  const [limit, setLimit] = useState(first)
  const found = useLoad(`refused ${applicationId}`, String(limit), (signal) =>
    core.diagnosis.listRefusedRequests({ applicationId, pagination: { limit } }, { signal }),
  )
  if (found.status === "loading" || (found.status === "failed" && found.denied)) return null
  const again = (
    <Button small onClick={found.reload}>
      {t("action.reload")}
    </Button>
  )
  return (
    <Section title={t("nav.refused-requests")} actions={again}>
      {found.status === "failed" && <Alert tone="danger">{found.message}</Alert>}
      {found.status === "ready" && found.value.refusedRequests.length === 0 && (
        <p className="quiet section-lead">{t("refused.none_here")}</p>
      )}
      {found.status === "ready" && (
        <RefusedList requests={found.value.refusedRequests} within="application" />
      )}
      {found.status === "ready" && limit === first && hasMore(found.value, first) && (
        <div className="row">
          <Button onClick={() => setLimit(more)}>{t("refused.more")}</Button>
        </div>
      )}
    </Section>
  )
}

type Answer = { readonly pagination?: { readonly totalResult: bigint } | undefined }

const hasMore = ({ pagination }: Answer, shown: number) =>
  Number(pagination?.totalResult ?? 0) > shown
