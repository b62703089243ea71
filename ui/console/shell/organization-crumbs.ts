import type { Crumb } from "./frame.tsx"
import { useBelongsTo, useOrganizations } from "./organization.tsx"
import { t } from "./text.ts"

/** The way back to the organization that a page belongs to, which becomes the chosen one. */
export function useOrganizationCrumbs(organizationId: string): readonly Crumb[] {
  useBelongsTo(organizationId)
  const organization = useOrganizations().find(({ id }) => id === organizationId)
  const link = { to: "/organizations/$organizationId", params: { organizationId } } as const
  return [{ label: organization?.name ?? t("nav.organization"), link }]
}
