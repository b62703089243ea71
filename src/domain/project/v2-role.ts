import { share } from "../../api/method.ts"
import {
  ProjectRoleFieldName,
  type ProjectRoleSearchFilter,
} from "../../gen/core/project/v2/project_pb.ts"
import {
  type ListProjectRolesRequest,
  ProjectService,
  type RemoveProjectRoleRequest,
} from "../../gen/core/project/v2/project_service_pb.ts"
import { pageOf } from "../../kernel/page.ts"
import { at, filterMissingError, meaning, pagination } from "../../protocol/api/answer.ts"
import { type Cx, type Filter, textFilter } from "../../store/index.ts"
import { project } from "./model.ts"
import { addRoles, changeRole, removeRole } from "./role.ts"
import { type RoleRow, searchRoles } from "./role-view.ts"

/** The roles of a project. */
export const v2role = share<Cx>()(ProjectService, {
  addProjectRole: async ({ projectId, roleKey: key, displayName, group }, cx) => {
    const receipt = await addRoles(cx, projectId, [{ key, displayName, group }])
    return { creationDate: at(receipt.changed) }
  },
  updateProjectRole: async ({ projectId, roleKey: key, displayName, group }, cx) => {
    const { changed } = await changeRole(cx, projectId, { key, displayName, group })
    return { changeDate: at(changed) }
  },
  removeProjectRole: (req, cx) => remove(cx, req),
  listProjectRoles: (req, cx) => list(cx, req),
})

/** Without a date where there was no such role. */
async function remove(cx: Cx, { projectId, roleKey }: RemoveProjectRoleRequest) {
  const step = await cx.store.transact(cx, (tx) => {
    const before = tx.state(project, projectId)
    removeRole.within(tx, projectId, roleKey)
    return tx.state(project, projectId) === before ? {} : { removalDate: at(tx.now) }
  })
  return step.value
}

async function list(cx: Cx, req: ListProjectRolesRequest) {
  const found = await searchRoles(cx, req.projectId, {
    page: pageOf(req.pagination),
    sort: meaning(columns, req.sortingColumn ?? ProjectRoleFieldName.UNSPECIFIED),
    filters: req.filters.map(filterOf),
  })
  return { pagination: pagination(found), projectRoles: found.rows.map(toRole) }
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
  creationDate: at(row.created),
  changeDate: at(row.changed),
  displayName: row.display_name,
  group: row.role_group,
})
