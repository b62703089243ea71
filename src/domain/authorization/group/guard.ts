import { Fault } from "../../../kernel/fault.ts"
import { guardGroups } from "../../group/index.ts"
import { lackingOn, type Target } from "../../member/index.ts"
import { projectsOfGroupIn } from "./view.ts"

/**
 * Adding users to a group assigns them its project roles, and removing users removes them. The
 * caller needs the permission for that in each of the projects.
 */
guardGroups((tx, { groupIds }) => {
  for (const { project, grantId } of groupIds.flatMap((each) => projectsOfGroupIn(tx, each))) {
    const target: Target = grantId
      ? { level: "grant", id: grantId }
      : { level: "project", id: project }
    if (lackingOn(tx, target, [permission]) !== undefined) throw rolesDeniedError()
  }
})

const permission = "user.grant.write"

const rolesDeniedError = () =>
  new Fault(
    "permission_denied",
    "group.roles_denied",
    "this group, or a group that it is a member of, has roles on a project whose roles you can't " +
      `give: you lack ${permission} there`,
  )
