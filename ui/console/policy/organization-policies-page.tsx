import { lazyRouteComponent, useParams } from "@tanstack/react-router"
import { Page } from "../shell/frame.tsx"
import { useBelongsTo, useOrganizations } from "../shell/organization.tsx"
import { Part } from "../shell/part.tsx"
import { t } from "../shell/text.ts"
import { policies } from "./policies.ts"
import { PolicySection } from "./policy-section.tsx"

// Loaded once the page stands.
const History = lazyRouteComponent(() => import("../list/history.tsx"), "History")

/** What an organisation decides for its own people, where the instance leaves it to it. */
export function OrganizationPoliciesPage() {
  const { organizationId } = useParams({ from: "/organizations/$organizationId/policies" })
  useBelongsTo(organizationId)
  const found = useOrganizations().find(({ id }) => id === organizationId)
  const link = { to: "/organizations/$organizationId", params: { organizationId } } as const
  return (
    <Page
      title={t("policies.title")}
      crumbs={[{ label: found?.name ?? t("nav.organization"), link }]}
    >
      <p className="quiet section-lead">{t("policies.lead_organization")}</p>
      {policies.map((policy) => (
        <Part key={policy.name}>
          <PolicySection policy={policy} place={organizationId} />
        </Part>
      ))}
      <Part>
        <History of={{ case: "policiesOf", value: organizationId }} />
      </Part>
    </Page>
  )
}
