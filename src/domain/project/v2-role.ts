import { bindHandlers } from "../../api/method.ts"
import {
  ProjectRoleFieldName,
  type ProjectRoleSearchFilter,
} from "../../gen/core/project/v2/project_pb.ts"
import {
  type ListProjectRolesRequest,
  ProjectService,
  type RemoveProjectRoleRequest,
} from "../../gen/core/project/v2/project_service_pb.ts"
import { parsePage } from "../../kernel/page.ts"
import {
  filterMissingError,
  toPagination,
  toTimestamp,
  valueOfEnum,
} from "../../protocol/api/response.ts"
import { type Cx, type Filter, textFilter } from "../../store/index.ts"
import { project } from "./model.ts"
import { addRoles, removeRole, updateRole } from "./role.ts"
import { type RoleRow, searchRoles } from "./role-view.ts"

/** The roles of a project. */
export const v2role = bindHandlers<Cx>()(ProjectService, {
  addProjectRole: async ({ projectId, roleKey: key, displayName, group }, cx) => {
    const receipt = await addRoles(cx, projectId, [{ key, displayName, group }])
    return { creationDate: toTimestamp(receipt.changed) }
  },
  updateProjectRole: async ({ projectId, roleKey: key, displayName, group }, cx) => {
    const { changed } = await updateRole(cx, projectId, { key, displayName, group })
    return { changeDate: toTimestamp(changed) }
  },
  removeProjectRole: (req, cx) => removeRoleFromRequest(cx, req),
  listProjectRoles: (req, cx) => listRoles(cx, req),
})

/** The response has no date if the role did not exist. */
async function removeRoleFromRequest(cx: Cx, { projectId, roleKey }: RemoveProjectRoleRequest) {
  const step = await cx.store.transact(cx, (tx) => {
    const before = tx.state(project, projectId)
    removeRole.within(tx, projectId, roleKey)
    return tx.state(project, projectId) === before ? {} : { removalDate: toTimestamp(tx.now) }
  })
  return step.value
}

async function listRoles(cx: Cx, req: ListProjectRolesRequest) {
  const found = await searchRoles(cx, req.projectId, {
    page: parsePage(req.pagination),
    sort: valueOfEnum(columns, req.sortingColumn ?? ProjectRoleFieldName.UNSPECIFIED),
    filters: req.filters.map(filterOf),
  })
  return { pagination: toPagination(found), projectRoles: found.rows.map(toRole) }
}

const columns = {
  [ProjectRoleFieldName.UNSPECIFIED]: "created",
  [ProjectRoleFieldName.KEY]: "role_key",
  [ProjectRoleFieldName.CREATION_DATE]: "created",
  [ProjectRoleFieldName.CHANGE_DATE]: "changed",
} as const

function filterOf({ filter }: ProjectRoleSearchFilter): Filter {
  switch (filter.case) {
    case "roleKeyFilter":
      return textFilter("role_key", filter.value.key, filter.value.method)
    case "displayNameFilter":
      return textFilter("display_name", filter.value.displayName, filter.value.method)
    default:
      throw filterMissingError()
  }
}

const toRole = (row: RoleRow) => ({
  projectId: row.project,
  key: row.role_key,
  creationDate: toTimestamp(row.created),
  changeDate: toTimestamp(row.changed),
  displayName: row.display_name,
  group: row.role_group,
})
