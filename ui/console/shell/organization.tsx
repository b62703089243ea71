import { queryOptions, useQuery, useSuspenseQuery } from "@tanstack/react-query"
import { useLocation, useNavigate, useSearch } from "@tanstack/react-router"
import { useEffect } from "react"
import { callJson } from "./call-json.ts"
import { usePermissions } from "./permissions.ts"

export type Organization = { readonly id: string; readonly name: string }

/** As many as the switch offers; whoever has more finds them by the list of organisations. */
const offered = 200

const chosenKey = "latchkey.organization"

const organizationsAsked = {
  query: { limit: offered, asc: true },
  sortingColumn: "ORGANIZATION_FIELD_NAME_NAME",
}

const orgService = "core.org.v2.OrganizationService"
const authService = "core.auth.v1.AuthService"

/** As many of one's own roles as are looked at. */
const rolesMax = 200

type Rows = readonly Record<string, unknown>[]

async function rowsOf(method: string, request: object, signal: AbortSignal): Promise<Rows> {
  const rows: unknown = (await callJson(method, request, { signal }))?.result
  return Array.isArray(rows) ? rows : []
}

/** The caller's own roles: everybody may read those. */
const membershipsQuery = queryOptions({
  queryKey: ["memberships"],
  queryFn: ({ signal }) =>
    rowsOf(`${authService}/ListMyMemberships`, { query: { limit: rolesMax } }, signal),
})

/**
 * Whether one manages anything; undefined until that is known. Before that, and where one manages
 * nothing, no operation is called that would only refuse.
 */
export function useManages(): boolean | undefined {
  const { data, isError } = useQuery(membershipsQuery)
  // The page itself then says what is wrong.
  return isError || (data && data.length > 0)
}

/** The organisations in which one may see or look after something, by name. */
export function useOrganizations(): readonly Organization[] {
  const { data } = useSuspenseQuery({
    queryKey: ["organizations"],
    queryFn: async ({ signal, client }) => {
      const held = await client.fetchQuery(membershipsQuery)
      if (held.length === 0) return []
      // Whoever looks after a project alone may not see its organisation, but for its name.
      const isWider = held.length === rolesMax || held.some(({ iam, orgId }) => iam || orgId)
      const method = `${orgService}/ListOrganizations`
      const seen = isWider ? await rowsOf(method, organizationsAsked, signal) : []
      if (seen.length > 0) return seen.map(organizationOf)
      const limited = { query: { limit: offered } }
      return (await rowsOf(`${authService}/ListMyProjectOrgs`, limited, signal)).map(organizationOf)
    },
  })
  return data
}

const organizationOf = ({ id, name }: Record<string, unknown>): Organization => ({
  id: String(id),
  name: String(name),
})

/** Whether one may see what holds for the whole instance. */
export const useSeesInstance = (): boolean => usePermissions().includes("iam.read")

/** One manages nothing here: there is no organisation to show. */
export const nothingToManage = new Error("no organisation can be seen")

/**
 * The organisation whose things are shown and in which new ones are made: the one in the address,
 * so that a link leads colleagues to the same, else the one chosen last, else the one that was
 * shown first.
 */
export function useOrganization(): Organization {
  const organizations = useOrganizations()
  const { org } = useSearch({ from: "__root__" })
  const wanted = org ?? localStorage.getItem(chosenKey)
  const found = organizations.find(({ id }) => id === wanted) ?? organizations[0]
  const isDefault = org === undefined && found !== undefined && found.id !== wanted
  // The first by name: another one is, once one of them is renamed or added.
  useEffect(() => {
    if (isDefault) localStorage.setItem(chosenKey, found.id)
  }, [isDefault, found])
  if (!found) throw nothingToManage
  return found
}

/** Works in another organisation from now on: what is open belongs to one, its list to each. */
export function useChoose(): (organizationId: string) => void {
  const navigate = useNavigate()
  const { pathname } = useLocation()
  return (org) => {
    localStorage.setItem(chosenKey, org)
    void navigate({ to: placeOf(pathname, org), search: { org } })
  }
}

function placeOf(pathname: string, organizationId: string): string {
  const [list = ""] = pathname.split("/").filter(Boolean)
  if (list === "organizations") return `/organizations/${organizationId}`
  return list === "granted-projects" ? "/projects" : `/${list}`
}

/** A page of something that belongs to an organisation: that is the chosen one from now on. */
export function useBelongsTo(organizationId: string | undefined): void {
  const navigate = useNavigate()
  const { id } = useOrganization()
  const isOther = organizationId !== id
  const isSeen = useOrganizations().some((one) => one.id === organizationId)
  // biome-ignore lint/correctness/useExhaustiveDependencies: whoever chooses another leaves
  useEffect(() => {
    if (!organizationId || !isSeen || !isOther) return
    localStorage.setItem(chosenKey, organizationId)
    const search = (before: object) => ({ ...before, org: organizationId })
    void navigate({ to: ".", search, replace: true })
  }, [organizationId, isSeen])
}
