import { share } from "../../api/method.ts"
import { DiagnosisService } from "../../gen/core/diagnosis/v2/diagnosis_service_pb.ts"
import { pageOf } from "../../kernel/page.ts"
import { at, pagination } from "../../protocol/api/answer.ts"
import type { Cx } from "../../store/index.ts"
import { differenceOf, type Finding } from "./finding.ts"
import { type Known, searchRefusals } from "./refusal.ts"
import { startTestSignIn } from "./test-sign-in.ts"

export const v2 = share<Cx>()(DiagnosisService, {
  listRefusedRequests: ({ requestId, applicationId: appId, pagination: asked }, cx) => {
    const found = searchRefusals(cx, { requestId, appId, page: pageOf(asked) })
    return { pagination: pagination(found), refusedRequests: found.rows.map(toRefused) }
  },
  startTestSignIn: ({ applicationId, scope, chooseAccount }, cx) =>
    startTestSignIn(cx, applicationId, { scope, chooseAccount }),
})

const toRefused = ({ place: _, appId: _id, time, application, findings, ...refusal }: Known) => ({
  ...refusal,
  creationDate: at(time),
  applicationId: application?.id ?? "",
  applicationName: application?.name ?? "",
  findings: findings.map(toFinding),
})

function toFinding(finding: Finding) {
  const { subject, received, expected, likelyCause = "", likelyCauseKey = "" } = finding
  const said = { subject, received, expected: [...expected], likelyCause, likelyCauseKey }
  return { ...said, ...differenceOf(finding) }
}
