import type { OIDCLocalizedMessage } from "../../../src/gen/core/application/v2/application_pb.ts"
import { Alert } from "../../kit/index.ts"
import { has, t } from "../shell/index.ts"
import type { OidcPart } from "./update-application.ts"

/** What is refused, and what works but is advised against: what it means, and what to do. */
export function ComplianceProblems({ oidc }: Pick<OidcPart, "oidc">) {
  const refused = oidc.complianceProblems.filter(({ refusesSignIn }) => refusesSignIn)
  const advised = oidc.complianceProblems.filter(({ refusesSignIn }) => !refusesSignIn)
  return (
    <>
      {refused.length > 0 && (
        <Alert tone="danger" title={t("problem.refused_title")}>
          <List problems={refused} />
        </Alert>
      )}
      {advised.length > 0 && (
        <Alert tone="warning" title={t("problem.title")}>
          <List problems={advised} />
        </Alert>
      )}
    </>
  )
}

function List({ problems }: { readonly problems: readonly OIDCLocalizedMessage[] }) {
  return (
    <ul className="alert-list">
      {problems.map((problem) => (
        <li key={problem.key}>
          <Words problem={problem} />
        </li>
      ))}
    </ul>
  )
}

/** In the reader's language where the catalogue knows the problem, else in the server's words. */
function Words({ problem }: { readonly problem: OIDCLocalizedMessage }) {
  const key = `problem.${problem.key}`
  return has(key) ? t(key) : <span lang="en">{problem.localizedMessage}</span>
}
