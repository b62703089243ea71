import { createQueryOptions } from "@connectrpc/connect-query"
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useState } from "react"
import { DiagnosisService } from "../../../src/gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { Button } from "../../kit/index.ts"
import { RefusedList } from "../refused-request/refused-list.tsx"
import {
  isDenied,
  RefusalAlert,
  refusalOf,
  Section,
  t,
  transport,
  useReload,
} from "../shell/index.ts"
import { RefusalRemedy } from "./refusal-remedy.tsx"
import type { ApplicationPart } from "./update-application.ts"

const first = 3
const more = 20

/** The latest requests of this application that were refused; what went well says nothing here. */
export function RefusedRequests({ application }: ApplicationPart) {
  const { applicationId } = application
  const [limit, setLimit] = useState(first)
  const reload = useReload()
  const { listRefusedRequests } = DiagnosisService.method
  const wanted = { applicationId, pagination: { limit } }
  const { data, error } = useQuery({
    ...createQueryOptions(listRefusedRequests, wanted, { transport }),
    placeholderData: keepPreviousData,
    // Whoever looks here waits for the next attempt of an application.
    staleTime: 0,
  })
  const refusal = error ? refusalOf(error) : undefined
  if (refusal ? isDenied(refusal) : !data) return null
  const total = Number(data?.pagination?.totalResult ?? 0)
  const again = (
    <Button small onClick={() => void reload()}>
      {t("action.reload")}
    </Button>
  )
  return (
    <Section title={t("nav.refused-requests")} actions={again}>
      <RefusalAlert refusal={refusal} />
      {data?.refusedRequests.length === 0 && (
        <p className="quiet section-lead">{t("refused.none_here")}</p>
      )}
      {data && (
        <RefusedList requests={data.refusedRequests} Remedy={RefusalRemedy} within="application" />
      )}
      {limit === first && total > first && (
        <div className="row">
          <Button onClick={() => setLimit(more)}>{t("refused.more")}</Button>
        </div>
      )}
    </Section>
  )
}
