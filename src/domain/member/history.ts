import { type Change, type Cx, historyOf } from "../../store/index.ts"
import { projectGrant } from "../project-grant/index.ts"
import { customRoles, findCustomRole } from "./custom-role.ts"
import { groupAdministrator } from "./group/model.ts"
import { type Member, type MemberEvent, member } from "./model.ts"

/** The resource of a stream; see `memberId`. */
function targetOf({ cx, id }: Pick<Change<MemberEvent, Member>, "cx" | "id">): object {
  const [level, resourceId = "", userId] = id.split("/").map(decodeURIComponent)
  return { userId, resource: resourceOf(cx, level, resourceId) }
}

function resourceOf(cx: Cx, level: string | undefined, resourceId: string): object {
  if (level === "instance") return { instance: true }
  if (level === "org") return { organizationId: resourceId }
  if (level === "project") return { projectId: resourceId }
  const { projectId, grantedOrgId: organizationId } = cx.store.state(cx, projectGrant, resourceId)
  return { projectGrant: { projectId, organizationId } }
}

/** The group and the resource of a stream; see `groupAdministratorId`. */
function groupTargetOf({ cx, id }: Pick<Change<never, unknown>, "cx" | "id">): object {
  const [level, resourceId = "", groupId] = id.split("/").map(decodeURIComponent)
  return { groupId, resource: resourceOf(cx, level, resourceId) }
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

export const groupAdministratorHistory = historyOf(groupAdministrator, {
  hidden: ["groupId", "groupOrgId", "level", "targetId", "projectId"],
  operations: "core.internal_permission.v2.InternalPermissionService/*GroupAdministrator",
  target: groupTargetOf,
  present: ({ roles }) => ({ roles }),
  undo: {
    "*.added": "DeleteGroupAdministrator",
    "*.removed": ({ before: { roles } }) =>
      roles.length === 0 ? "parts" : ["CreateGroupAdministrator", { roles }],
  },
})

export const customRolesHistory = historyOf(customRoles, {
  hidden: ["roles.*.created", "roles.*.changed"],
  operations: "core.internal_permission.v2.InternalPermissionService/*Role",
  target: ({ event: { data } }) => ({ key: data.key }),
  present: (state, { data }) => findCustomRole(state, data.key) ?? {},
})
