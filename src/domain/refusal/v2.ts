import { bindHandlers } from "../../api/method.ts"
import { DiagnosisService } from "../../gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { parsePage } from "../../kernel/page.ts"
import { toPagination, toTimestamp } from "../../protocol/api/response.ts"
import type { Cx } from "../../store/index.ts"
import { differenceOf, type Finding } from "./finding.ts"
import { type RefusalWithApplication, searchRefusals } from "./refusal.ts"
import { startTestSignIn } from "./test-sign-in.ts"

export const v2 = bindHandlers<Cx>()(DiagnosisService, {
  listRefusedRequests: ({ requestId, applicationId: appId, pagination: requestedPage }, cx) => {
    const result = searchRefusals(cx, { requestId, appId, page: parsePage(requestedPage) })
    return { pagination: toPagination(result), refusedRequests: result.rows.map(toRefused) }
  },
  startTestSignIn: ({ applicationId, scope, chooseAccount }, cx) =>
    startTestSignIn(cx, applicationId, { scope, chooseAccount }),
})

const toRefused = ({
  sequence: _,
  appId: _id,
  time,
  application,
  findings,
  ...refusal
}: RefusalWithApplication) => ({
  ...refusal,
  creationDate: toTimestamp(time),
  applicationId: application?.id ?? "",
  applicationName: application?.name ?? "",
  findings: findings.map(toFinding),
})

function toFinding(finding: Finding) {
  const { subject, received, expected, likelyCause = "", likelyCauseKey = "" } = finding
  const message = { subject, received, expected: [...expected], likelyCause, likelyCauseKey }
  return { ...message, ...differenceOf(finding) }
}
