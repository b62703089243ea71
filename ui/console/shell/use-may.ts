import { type DescMethod, getOption } from "@bufbuild/protobuf"
import { useContext } from "react"
import { access } from "../../../src/gen/core/options_pb.ts"
import { useOrganization } from "./organization.tsx"
import { usePermissions } from "./permissions.ts"
import { ScopeContext } from "./scope.ts"

/**
 * Whether the caller can call an operation: checks the permission that the operation declares, in
 * the given organization or that of the page. Controls without permission are hidden.
 */
export function useIsPermitted(organizationId?: string): (method: DescMethod) => boolean {
  const chosen = useOrganization()
  const { projectId: held, higherRanks: below = [], ...scope } = useContext(ScopeContext)
  const permissions = usePermissions(organizationId ?? scope.organizationId ?? chosen.id)
  const holds = ({ permission }: { readonly permission: string }) =>
    permissions.some(
      (one) =>
        one === permission ||
        one === `${permission}:${held}` ||
        (held === "any" && one.startsWith(`${permission}:`)),
    )
  return (method) => {
    const { either, or, ...rule } = getOption(method, access)
    if (below.includes(rule.rank)) return false
    return rule.authenticated !== "" || [rule, ...either, ...(or ? [or] : [])].some(holds)
  }
}
