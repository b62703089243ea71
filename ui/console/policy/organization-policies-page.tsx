import { useParams } from "@tanstack/react-router"
import { History } from "../list/index.ts"
import { Page, Part, t, useOrganizationCrumbs } from "../shell/index.ts"
import { policies } from "./policies.ts"
import { PolicySection } from "./policy-section.tsx"

/** What an organisation decides for its own people, where the instance leaves it to it. */
export function OrganizationPoliciesPage() {
  const { organizationId } = useParams({ from: "/organizations/$organizationId/policies" })
  const crumbs = useOrganizationCrumbs(organizationId)
  return (
    <Page title={t("policies.title")} crumbs={crumbs}>
      <p className="quiet section-lead">{t("policies.lead_organization")}</p>
      {policies.map((policy) => (
        <Part key={policy.name}>
          <PolicySection policy={policy} place={organizationId} />
        </Part>
      ))}
      <History of={{ case: "policiesOf", value: organizationId }} />
    </Page>
  )
}
