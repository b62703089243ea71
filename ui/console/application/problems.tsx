import type { OIDCLocalizedMessage } from "../../../src/gen/core/application/v2/application_pb.ts"
import { Alert } from "../../kit/alert.tsx"
import { useText } from "../shell/text.ts"
import type { OidcPart } from "./change.ts"

/** What works, but is advised against: what it means, and what to do instead. */
export function Problems({ oidc }: Pick<OidcPart, "oidc">) {
  const { t } = useText()
  if (oidc.complianceProblems.length === 0) return null
  return (
    <Alert tone="warning" title={t("problem.title")}>
      <ul className="alert-list">
        {oidc.complianceProblems.map((problem) => (
          <li key={problem.key}>
            <Words problem={problem} />
          </li>
        ))}
      </ul>
    </Alert>
  )
}

/** In the reader's language where the catalogue knows the problem, else in the server's words. */
function Words({ problem }: { readonly problem: OIDCLocalizedMessage }) {
  const { t, has } = useText()
  const key = `problem.${problem.key}`
  return has(key) ? t(key) : <span lang="en">{problem.localizedMessage}</span>
}
