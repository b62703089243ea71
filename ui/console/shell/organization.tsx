import { queryOptions, useQuery, useSuspenseQuery } from "@tanstack/react-query"
import { useLocation, useNavigate, useSearch } from "@tanstack/react-router"
import { useEffect } from "react"
import { callJson } from "./call-json.ts"
import { usePermissions } from "./permissions.ts"

export type Organization = { readonly id: string; readonly name: string }

/** Limit of the organization switch; others can be found in the list of organizations. */
const organizationsMax = 200

const storageKey = "latchkey.organization"

const organizationsRequest = {
  query: { limit: organizationsMax, asc: true },
  sortingColumn: "ORGANIZATION_FIELD_NAME_NAME",
}

const orgService = "core.org.v2.OrganizationService"
const authService = "core.auth.v1.AuthService"

/** Limit of the caller's roles that are read. */
const rolesMax = 200

type Rows = readonly Record<string, unknown>[]

async function fetchRows(method: string, request: object, signal: AbortSignal): Promise<Rows> {
  const rows: unknown = (await callJson(method, request, { signal }))?.result
  return Array.isArray(rows) ? rows : []
}

/** The caller's own roles, which everyone can read. */
const membershipsQuery = queryOptions({
  queryKey: ["memberships"],
  queryFn: ({ signal }) =>
    fetchRows(`${authService}/ListMyMemberships`, { query: { limit: rolesMax } }, signal),
})

/**
 * Whether the caller can manage anything; undefined while loading. Without permissions, no requests
 * are sent that would be rejected.
 */
export function useCanManage(): boolean | undefined {
  const { data, isError } = useQuery(membershipsQuery)
  // The page itself then shows the error.
  return isError || (data && data.length > 0)
}

/** Organizations in which the caller has permissions, by name. */
export function useOrganizations(): readonly Organization[] {
  const { data } = useSuspenseQuery({
    queryKey: ["organizations"],
    queryFn: async ({ signal, client }) => {
      const memberships = await client.fetchQuery(membershipsQuery)
      if (memberships.length === 0) return []
      // Administrators of a single project can only see the name of its organization.
      const isWider =
        memberships.length === rolesMax || memberships.some(({ iam, orgId }) => iam || orgId)
      const method = `${orgService}/ListOrganizations`
      const seen = isWider ? await fetchRows(method, organizationsRequest, signal) : []
      if (seen.length > 0) return seen.map(toOrganization)
      const limited = { query: { limit: organizationsMax } }
      return (await fetchRows(`${authService}/ListMyProjectOrgs`, limited, signal)).map(
        toOrganization,
      )
    },
  })
  return data
}

const toOrganization = ({ id, name }: Record<string, unknown>): Organization => ({
  id: String(id),
  name: String(name),
})

/** Whether the caller can read instance settings. */
export const useCanReadInstance = (): boolean => usePermissions().includes("iam.read")

/** Thrown if the caller can't manage anything, so there is no organization to show. */
export const nothingToManageError = new Error("no organization is accessible")

/**
 * The selected organization: the one in the URL, so that links can be shared, otherwise the last
 * selected one, otherwise the first.
 */
export function useOrganization(): Organization {
  const organizations = useOrganizations()
  const { org } = useSearch({ from: "__root__" })
  const requestedId = org ?? localStorage.getItem(storageKey)
  const found = organizations.find(({ id }) => id === requestedId) ?? organizations[0]
  const isDefault = org === undefined && found !== undefined && found.id !== requestedId
  // Stored, because the first by name changes when organizations are renamed or added.
  useEffect(() => {
    if (isDefault) localStorage.setItem(storageKey, found.id)
  }, [isDefault, found])
  if (!found) throw nothingToManageError
  return found
}

/**
 * Selects another organization. Pages of a resource are replaced by the list, because the resource
 * belongs to one organization.
 */
export function useSelectOrganization(): (organizationId: string) => void {
  const navigate = useNavigate()
  const { pathname } = useLocation()
  return (org) => {
    localStorage.setItem(storageKey, org)
    void navigate({ to: pathForOrganization(pathname, org), search: { org } })
  }
}

function pathForOrganization(pathname: string, organizationId: string): string {
  const [list = ""] = pathname.split("/").filter(Boolean)
  if (list === "organizations") return `/organizations/${organizationId}`
  return list === "granted-projects" ? "/projects" : `/${list}`
}

/** Selects the organization that owns the resource of a page. */
export function useSelectOwner(organizationId: string | undefined): void {
  const navigate = useNavigate()
  const { id } = useOrganization()
  const isOther = organizationId !== id
  const isSeen = useOrganizations().some((one) => one.id === organizationId)
  // biome-ignore lint/correctness/useExhaustiveDependencies: it must not run on selection
  useEffect(() => {
    if (!organizationId || !isSeen || !isOther) return
    localStorage.setItem(storageKey, organizationId)
    const search = (before: object) => ({ ...before, org: organizationId })
    void navigate({ to: ".", search, replace: true })
  }, [organizationId, isSeen])
}
