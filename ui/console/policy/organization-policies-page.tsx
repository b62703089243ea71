import { useParams } from "@tanstack/react-router"
import { History } from "../list/index.ts"
import { Page, PagePart, t, useOrganizationCrumbs } from "../shell/index.ts"
import { policies } from "./policies.ts"
import { PolicySection } from "./policy-section.tsx"

/** Policies of an organization. */
export function OrganizationPoliciesPage() {
  const { organizationId } = useParams({ from: "/organizations/$organizationId/policies" })
  const crumbs = useOrganizationCrumbs(organizationId)
  return (
    <Page title={t("policies.title")} crumbs={crumbs}>
      <p className="quiet section-lead">{t("policies.lead_organization")}</p>
      {policies.map((policy) => (
        <PagePart key={policy.name}>
          <PolicySection policy={policy} owner={organizationId} />
        </PagePart>
      ))}
      <History of={{ case: "policiesOf", value: organizationId }} />
    </Page>
  )
}
