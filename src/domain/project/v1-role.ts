import { share } from "../../api/method.ts"
import {
  type ListProjectRolesRequest,
  ManagementService,
  type RemoveProjectRoleRequest,
  type UpdateProjectRoleRequest,
} from "../../gen/core/management/v1/management_service_pb.ts"
import type { RoleQuery } from "../../gen/core/project/v1/project_pb.ts"
import { Fault } from "../../kernel/fault.ts"
import { pageOf } from "../../kernel/page.ts"
import { at, details, filterMissingError } from "../../protocol/api/answer.ts"
import { selected } from "../../protocol/api/mask.ts"
import { type Cx, type Filter, textFilter } from "../../store/index.ts"
import { project } from "./model.ts"
import { addRoles, changeRole, removeRole } from "./role.ts"
import { findRole, type RoleRow, searchRoles } from "./role-view.ts"

/** The roles of a project. */
export const managementRole = share<Cx>()(ManagementService, {
  listProjectRoles: (req, cx) => list(cx, req),
  addProjectRole: async ({ projectId, roleKey: key, displayName, group }, cx) => ({
    details: details(await addRoles(cx, projectId, [{ key, displayName, group }])),
  }),
  bulkAddProjectRoles: async ({ projectId, roles }, cx) => {
    if (roles.length === 0) {
      throw new Fault("invalid_argument", "project.roles_missing", "name at least one role")
    }
    return { details: details(await addRoles(cx, projectId, roles)) }
  },
  updateProjectRole: (req, cx) => update(cx, req),
  removeProjectRole: (req, cx) => remove(cx, req),
})

/** v1 tells callers who change nothing so, where v2 lets them pass. */
async function update(cx: Cx, req: UpdateProjectRoleRequest) {
  const { projectId, roleKey: key, displayName, group } = req
  const { isNew } = await changeRole(cx, projectId, {
    key,
    ...selected(req, { displayName, group }),
  })
  if (!isNew) {
    throw new Fault("failed_precondition", "project.unchanged", "no changes: it is so already")
  }
  return { details: roleDetails(findRole(cx, projectId, key)) }
}

async function remove(cx: Cx, { projectId, roleKey }: RemoveProjectRoleRequest) {
  const step = await cx.store.transact(cx, (tx) => {
    findRole(cx, projectId, roleKey)
    removeRole.within(tx, projectId, roleKey)
  })
  return { details: details(step.receipt(project, projectId)) }
}

async function list(cx: Cx, req: ListProjectRolesRequest) {
  const found = await searchRoles(cx, req.projectId, {
    page: pageOf(req.query),
    filters: req.queries.map(roleFilter),
  })
  return {
    details: {
      totalResult: BigInt(found.total),
      processedSequence: BigInt(cx.store.log.durable()),
      viewTimestamp: at(cx.clock.now()),
    },
    result: found.rows.map(toRole),
  }
}

export function roleFilter({ query }: RoleQuery): Filter {
  switch (query.case) {
    case "keyQuery":
      return textFilter("role_key", query.value.key, query.value.method)
    case "displayNameQuery":
      return textFilter("display_name", query.value.displayName, query.value.method)
    default:
      throw filterMissingError()
  }
}

const roleDetails = (row: RoleRow) => details({ ...row, owner: row.org })

export const toRole = (row: RoleRow) => ({
  key: row.role_key,
  details: roleDetails(row),
  displayName: row.display_name,
  group: row.role_group,
})
