import { type Change, historyOf } from "../../store/index.ts"
import { projectGrant } from "../project-grant/index.ts"
import { customRole, customRoles } from "./custom-role.ts"
import { type Member, type MemberEvent, member } from "./model.ts"

/** What the id of a stream names, see `memberId`. */
function targetOf({ cx, id }: Pick<Change<MemberEvent, Member>, "cx" | "id">): object {
  const [level, thing = "", userId] = id.split("/").map(decodeURIComponent)
  if (level === "org") return { userId, resource: { organizationId: thing } }
  if (level === "project") return { userId, resource: { projectId: thing } }
  const { projectId, grantedOrgId: organizationId } = cx.store.state(cx, projectGrant, thing)
  return { userId, resource: { projectGrant: { projectId, organizationId } } }
}

export const memberHistory = historyOf(member, {
  operations: "core.internal_permission.v2.InternalPermissionService/*Administrator",
  target: targetOf,
  undo: {
    "*.added": "DeleteAdministrator",
    "*.removed": ({ before: { roles } }) =>
      roles.length === 0 ? "parts" : ["CreateAdministrator", { roles }],
  },
})

export const customRolesHistory = historyOf(customRoles, {
  hidden: ["roles.*.created", "roles.*.changed"],
  operations: "core.internal_permission.v2.InternalPermissionService/*Role",
  target: ({ event: { data } }) => ({ key: data.key }),
  present: (state, { data }) => customRole(state, data.key) ?? {},
})
