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

const initialSize = 3
const moreSize = 20

/** The latest rejected requests of this application; successful ones are not listed. */
export function RefusedRequests({ application }: ApplicationPart) {
  const { applicationId } = application
  const [limit, setLimit] = useState(initialSize)
  const reload = useReload()
  const { listRefusedRequests } = DiagnosisService.method
  const request = { applicationId, pagination: { limit } }
  const { data, error } = useQuery({
    ...createQueryOptions(listRefusedRequests, request, { transport }),
    placeholderData: keepPreviousData,
    // Always refetched, because users of this page wait for the next attempt.
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
      {limit === initialSize && total > initialSize && (
        <div className="row">
          <Button onClick={() => setLimit(moreSize)}>{t("refused.more")}</Button>
        </div>
      )}
    </Section>
  )
}
