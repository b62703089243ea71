import { type Change, former, historyOf, type Undo } from "../../store/index.ts"
import { projectGrant } from "../project-grant/index.ts"
import { customRoles } from "./custom-role.ts"
import { type Member, type MemberEvent, member } from "./model.ts"

/** What the id of a stream names, see `memberId`. */
function targetOf({ cx, id }: Pick<Change<MemberEvent, Member>, "cx" | "id">): object {
  const [level, thing = "", userId] = id.split("/").map(decodeURIComponent)
  if (level === "org") return { userId, resource: { organizationId: thing } }
  if (level === "project") return { userId, resource: { projectId: thing } }
  const { projectId, grantedOrgId: organizationId } = cx.store.state(cx, projectGrant, thing)
  return { userId, resource: { projectGrant: { projectId, organizationId } } }
}

const removed: Undo<MemberEvent, Member> = ({ before: { roles } }) =>
  roles.length === 0 ? "parts" : ["CreateAdministrator", { roles }]

export const memberHistory = historyOf(member, {
  operations: "core.internal_permission.v2.InternalPermissionService/*Administrator",
  target: targetOf,
  undo: {
    "org.member.added": "DeleteAdministrator",
    "org.member.removed": removed,
    "project.member.added": "DeleteAdministrator",
    "project.member.removed": removed,
    "project.grant.member.added": "DeleteAdministrator",
    "project.grant.member.removed": removed,
  },
})

export const customRolesHistory = historyOf(customRoles, {
  hidden: ["roles.*.created", "roles.*.changed"],
  operations: "core.internal_permission.v2.InternalPermissionService/*Role",
  undo: {
    "role.changed": ({
      event: {
        data: { key },
      },
      before,
      after,
    }) => {
      const [was, is] = [before.roles[key], after.roles[key]]
      return was && is ? ["UpdateRole", { ...former(was, is), key }] : "parts"
    },
  },
})
