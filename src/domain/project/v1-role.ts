import { bindHandlers } from "../../api/method.ts"
import {
  type ListProjectRolesRequest,
  ManagementService,
  type RemoveProjectRoleRequest,
  type UpdateProjectRoleRequest,
} from "../../gen/core/management/v1/management_service_pb.ts"
import type { RoleQuery } from "../../gen/core/project/v1/project_pb.ts"
import { Fault } from "../../kernel/fault.ts"
import { parsePage } from "../../kernel/page.ts"
import { selectMasked } from "../../protocol/api/mask.ts"
import { filterMissingError, toDetails, toTimestamp } from "../../protocol/api/response.ts"
import { type Cx, type Filter, textFilter } from "../../store/index.ts"
import { project } from "./model.ts"
import { addRoles, removeRole, updateRole } from "./role.ts"
import { getRole, type RoleRow, searchRoles } from "./role-view.ts"

/** The roles of a project. */
export const managementRole = bindHandlers<Cx>()(ManagementService, {
  listProjectRoles: (req, cx) => listRoles(cx, req),
  addProjectRole: async ({ projectId, roleKey: key, displayName, group }, cx) => ({
    details: toDetails(await addRoles(cx, projectId, [{ key, displayName, group }])),
  }),
  bulkAddProjectRoles: async ({ projectId, roles }, cx) => {
    if (roles.length === 0) {
      throw new Fault("invalid_argument", "project.roles_missing", "roles is required")
    }
    return { details: toDetails(await addRoles(cx, projectId, roles)) }
  },
  updateProjectRole: (req, cx) => updateRoleFromRequest(cx, req),
  removeProjectRole: (req, cx) => removeRoleFromRequest(cx, req),
})

/** v1 rejects a request that changes nothing; v2 accepts it. */
async function updateRoleFromRequest(cx: Cx, req: UpdateProjectRoleRequest) {
  const { projectId, roleKey: key, displayName, group } = req
  const { isNew } = await updateRole(cx, projectId, {
    key,
    ...selectMasked(req, { displayName, group }),
  })
  if (!isNew) {
    throw new Fault(
      "failed_precondition",
      "project.unchanged",
      "nothing to update: the role already has these values",
    )
  }
  return { details: roleDetails(getRole(cx, projectId, key)) }
}

async function removeRoleFromRequest(cx: Cx, { projectId, roleKey }: RemoveProjectRoleRequest) {
  const step = await cx.store.transact(cx, (tx) => {
    getRole(cx, projectId, roleKey)
    removeRole.within(tx, projectId, roleKey)
  })
  return { details: toDetails(step.receipt(project, projectId)) }
}

async function listRoles(cx: Cx, req: ListProjectRolesRequest) {
  const found = await searchRoles(cx, req.projectId, {
    page: parsePage(req.query),
    filters: req.queries.map(roleFilter),
  })
  return {
    details: {
      totalResult: BigInt(found.total),
      processedSequence: BigInt(cx.store.log.durable()),
      viewTimestamp: toTimestamp(cx.clock.now()),
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

const roleDetails = (row: RoleRow) => toDetails({ ...row, owner: row.org })

export const toRole = (row: RoleRow) => ({
  key: row.role_key,
  details: roleDetails(row),
  displayName: row.display_name,
  group: row.role_group,
})
