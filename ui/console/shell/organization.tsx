import { useSuspenseQuery } from "@tanstack/react-query"
import { useLocation, useNavigate, useSearch } from "@tanstack/react-router"
import { useEffect } from "react"
import { readPlain } from "./plain.ts"

export type Organization = { readonly id: string; readonly name: string }

/** As many as the switch offers; whoever has more finds them by the list of organisations. */
const offered = 200

const chosenKey = "latchkey.organization"

const organizationsAsked = {
  query: { limit: offered, asc: true },
  sortingColumn: "ORGANIZATION_FIELD_NAME_NAME",
}

/** The organisations in which one may see or look after something, by name. */
export function useOrganizations(): readonly Organization[] {
  const { data } = useSuspenseQuery({
    queryKey: ["organizations"],
    queryFn: async ({ signal }) => {
      const rowsOf = async (method: string, asked: object) => {
        const rows: unknown = (await readPlain(method, asked, { signal }))?.result
        return Array.isArray(rows) ? rows : []
      }
      const seen = await rowsOf(`${orgService}/ListOrganizations`, organizationsAsked)
      if (seen.length > 0) return seen.map(organizationOf)
      // Whoever looks after a project alone may not see its organisation, but for its name.
      const held = await rowsOf(`${authService}/ListMyMemberships`, { query: { limit: 1 } })
      if (held.length === 0) return []
      const own = await rowsOf(`${authService}/ListMyProjectOrgs`, { query: { limit: offered } })
      return own.map(organizationOf)
    },
  })
  return data
}

const orgService = "core.org.v2.OrganizationService"
const authService = "core.auth.v1.AuthService"

const organizationOf = ({ id, name }: Record<string, unknown>): Organization => ({
  id: String(id),
  name: String(name),
})

/** Whether one may see what holds for the whole instance. */
export function useSeesInstance(): boolean {
  const { data } = useSuspenseQuery({
    queryKey: ["instance"],
    queryFn: async ({ signal }) => {
      const method = "core.admin.v1.AdminService/GetMyInstance"
      const answer = await readPlain(method, {}, { signal })
      return answer !== undefined
    },
  })
  return data
}

/** One manages nothing here: there is no organisation to show. */
export const nothingToManage = new Error("no organisation can be seen")

/**
 * The organisation whose things are shown and in which new ones are made: the one in the address,
 * so that a link leads colleagues to the same, else the one chosen last.
 */
export function useOrganization(): Organization {
  const organizations = useOrganizations()
  const { org } = useSearch({ from: "__root__" })
  const wanted = org ?? localStorage.getItem(chosenKey)
  const found = organizations.find(({ id }) => id === wanted) ?? organizations[0]
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
