import { Fault } from "../../../kernel/fault.ts"
import { registerGroupChangeCheck } from "../../group/index.ts"
import { findMissingPermission, type Target } from "../../member/index.ts"
import { projectsOfGroupIn } from "./view.ts"

/**
 * Users who are added to a group receive its project roles, and users who are removed lose them. So
 * the caller needs the permission to assign roles on each of these projects.
 */
registerGroupChangeCheck((tx, { groupIds }) => {
  for (const { project, grantId } of groupIds.flatMap((each) => projectsOfGroupIn(tx, each))) {
    const target: Target = grantId
      ? { level: "grant", id: grantId }
      : { level: "project", id: project }
    if (findMissingPermission(tx, target, [permission]) !== undefined) throw rolesDeniedError()
  }
})

const permission = "user.grant.write"

const rolesDeniedError = () =>
  new Fault(
    "permission_denied",
    "group.roles_denied",
    "permission denied: this group, or a group that contains it, has roles on a project " +
      `where you can't assign roles; ${permission} is required`,
  )
