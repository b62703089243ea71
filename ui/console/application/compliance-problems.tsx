import type { OIDCLocalizedMessage } from "../../../src/gen/core/application/v2/application_pb.ts"
import { Alert } from "../../kit/index.ts"
import { has, t } from "../shell/index.ts"
import type { OidcPart } from "./update-application.ts"

/** Rejected and discouraged settings, with an explanation and a remedy. */
export function ComplianceProblems({ oidc }: Pick<OidcPart, "oidc">) {
  const refused = oidc.complianceProblems.filter(({ refusesSignIn }) => refusesSignIn)
  const advised = oidc.complianceProblems.filter(({ refusesSignIn }) => !refusesSignIn)
  return (
    <>
      {refused.length > 0 && (
        <Alert tone="danger" title={t("problem.refused_title")}>
          <ProblemList problems={refused} />
        </Alert>
      )}
      {advised.length > 0 && (
        <Alert tone="warning" title={t("problem.title")}>
          <ProblemList problems={advised} />
        </Alert>
      )}
    </>
  )
}

function ProblemList({ problems }: { readonly problems: readonly OIDCLocalizedMessage[] }) {
  return (
    <ul className="alert-list">
      {problems.map((problem) => (
        <li key={problem.key}>
          <ProblemText problem={problem} />
        </li>
      ))}
    </ul>
  )
}

/** Translated if the catalog contains the problem, otherwise the server's text. */
function ProblemText({ problem }: { readonly problem: OIDCLocalizedMessage }) {
  const key = `problem.${problem.key}`
  return has(key) ? t(key) : <span lang="en">{problem.localizedMessage}</span>
}
