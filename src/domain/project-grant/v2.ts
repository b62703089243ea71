import { share } from "../../api/method.ts"
import {
  ProjectGrantFieldName,
  type ProjectGrantSearchFilter,
  ProjectGrantState,
} from "../../gen/core/project/v2/project_pb.ts"
import {
  type CreateProjectGrantRequest,
  type DeleteProjectGrantRequest,
  type ListProjectGrantsRequest,
  ProjectService,
} from "../../gen/core/project/v2/project_service_pb.ts"
import { pageOf } from "../../kernel/page.ts"
import { at, filterMissingError, meaning, pagination } from "../../protocol/api/answer.ts"
import { type Cx, type Filter, search, type Transaction, textFilter } from "../../store/index.ts"
import {
  activateGrant,
  changeGrant,
  createGrant,
  deactivateGrant,
  grantBetween,
  mustBeGranted,
  removeGrant,
} from "./commands.ts"
import { projectGrant } from "./model.ts"
import { rolesGranted } from "./query.ts"
import { type GrantRow, hasRole, projectGrants } from "./view.ts"

export const v2 = share<Cx>()(ProjectService, {
  createProjectGrant: (req, cx) => create(cx, req),
  updateProjectGrant: (req, cx) =>
    changing(cx, req, (tx, id) => changeGrant.within(tx, id, req.roleKeys)),
  deleteProjectGrant: (req, cx) => remove(cx, req),
  deactivateProjectGrant: (req, cx) =>
    changing(cx, req, (tx, id) => deactivateGrant.within(tx, id)),
  activateProjectGrant: (req, cx) => changing(cx, req, (tx, id) => activateGrant.within(tx, id)),
  listProjectGrants: (req, cx) => list(cx, req),
})

/** How v2 names a grant. */
type Named = { readonly projectId: string; readonly grantedOrganizationId: string }

async function create(cx: Cx, req: CreateProjectGrantRequest) {
  const { projectId, grantedOrganizationId: grantedOrgId, roleKeys } = req
  const { created } = await createGrant(cx, cx.ids.next(), { projectId, grantedOrgId, roleKeys })
  return { creationDate: at(created) }
}

async function changing(cx: Cx, named: Named, act: (tx: Transaction, id: string) => void) {
  const { projectId, grantedOrganizationId: orgId } = named
  const step = await cx.store.transact(cx, (tx) => {
    const id = mustBeGranted(tx, projectId, orgId)
    act(tx, id)
    return id
  })
  return { changeDate: at(step.receipt(projectGrant, step.value).changed) }
}

/** Without a date where there was no such grant. */
async function remove(cx: Cx, named: DeleteProjectGrantRequest) {
  const { projectId, grantedOrganizationId: orgId } = named
  const step = await cx.store.transact(cx, (tx) => {
    const id = grantBetween(tx, projectId, orgId)
    if (id === undefined) return {}
    removeGrant.within(tx, id)
    return { deletionDate: at(tx.now) }
  })
  return step.value
}

async function list(cx: Cx, req: ListProjectGrantsRequest) {
  const found = await search<GrantRow>(cx, projectGrants, {
    page: pageOf(req.pagination),
    sort: meaning(columns, req.sortingColumn ?? ProjectGrantFieldName.UNSPECIFIED),
    filters: req.filters.map((filter) => filterOf(cx, filter, req.filters)),
  })
  const shown = found.rows.map((row) => toGrant(cx, row))
  return { pagination: pagination(found), projectGrants: shown }
}

const columns = {
  [ProjectGrantFieldName.UNSPECIFIED]: "created",
  [ProjectGrantFieldName.PROJECT_ID]: "project",
  [ProjectGrantFieldName.CREATION_DATE]: "created",
  [ProjectGrantFieldName.CHANGE_DATE]: "changed",
} as const

function filterOf(
  cx: Cx,
  { filter }: ProjectGrantSearchFilter,
  all: readonly ProjectGrantSearchFilter[],
): Filter {
  switch (filter.case) {
    case "projectNameFilter":
      return textFilter("project_name", filter.value.projectName, filter.value.method)
    case "roleKeyFilter": {
      const key = textFilter("role_key", filter.value.key, filter.value.method)
      const narrowing = all.filter((each) => narrows.has(each.filter.case ?? ""))
      const others = narrowing.map((each) => filterOf(cx, each, []))
      return hasRole([key, ...others])
    }
    case "inProjectIdsFilter":
      return { oneOf: "project", values: filter.value.ids }
    case "organizationIdFilter":
      return { equals: "org", value: filter.value.id }
    case "grantedOrganizationIdFilter":
      return { equals: "granted_org", value: filter.value.id }
    default:
      throw filterMissingError()
  }
}

/** What else is asked for bounds how many roles are looked at. */
const narrows: ReadonlySet<string> = new Set([
  "inProjectIdsFilter",
  "organizationIdFilter",
  "grantedOrganizationIdFilter",
])

const toGrant = (cx: Cx, row: GrantRow) => ({
  id: row.id,
  organizationId: row.org,
  creationDate: at(row.created),
  changeDate: at(row.changed),
  grantedOrganizationId: row.granted_org,
  grantedOrganizationName: row.granted_org_name,
  grantedRoleKeys: [...rolesGranted(cx, row.id)],
  projectId: row.project,
  projectName: row.project_name,
  state: row.state === "active" ? ProjectGrantState.ACTIVE : ProjectGrantState.INACTIVE,
})
