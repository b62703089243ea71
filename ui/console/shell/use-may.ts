import { type DescMethod, getOption } from "@bufbuild/protobuf"
import { useContext } from "react"
import { access } from "../../../src/gen/core/options_pb.ts"
import { useOrganization } from "./organization.tsx"
import { usePermissions } from "./permissions.ts"
import { ScopeContext } from "./scope.ts"

/**
 * Whether one may call an operation on what the page shows: by the permission that the operation
 * itself asks for, in an organisation that is named, or else whose page it is. What one may not do
 * is not offered.
 */
export function useMay(organizationId?: string): (method: DescMethod) => boolean {
  const chosen = useOrganization()
  const { held, below = [], ...scope } = useContext(ScopeContext)
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
