import type { Crumb } from "./frame.tsx"
import { useOrganizations, useSelectOwner } from "./organization.tsx"
import { t } from "./text.ts"

/** Breadcrumbs to the organization of a page, which becomes the selected one. */
export function useOrganizationCrumbs(organizationId: string): readonly Crumb[] {
  useSelectOwner(organizationId)
  const organization = useOrganizations().find(({ id }) => id === organizationId)
  const link = { to: "/organizations/$organizationId", params: { organizationId } } as const
  return [{ label: organization?.name ?? t("nav.organization"), link }]
}
