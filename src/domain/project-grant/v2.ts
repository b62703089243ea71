import { bindHandlers } from "../../api/method.ts"
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
import { parsePage } from "../../kernel/page.ts"
import {
  filterMissingError,
  toPagination,
  toTimestamp,
  valueOfEnum,
} from "../../protocol/api/response.ts"
import { type Cx, type Filter, search, type Transaction, textFilter } from "../../store/index.ts"
import {
  activateGrant,
  createGrant,
  deactivateGrant,
  findGrantId,
  removeGrant,
  requireGrantId,
  updateGrant,
} from "./commands.ts"
import { projectGrant } from "./model.ts"
import { listGrantedRoles } from "./query.ts"
import { type GrantRow, hasRoleFilter, projectGrants } from "./view.ts"

export const v2 = bindHandlers<Cx>()(ProjectService, {
  createProjectGrant: (req, cx) => createFromRequest(cx, req),
  updateProjectGrant: (req, cx) =>
    updateGrantWith(cx, req, (tx, id) => updateGrant.within(tx, id, req.roleKeys)),
  deleteProjectGrant: (req, cx) => removeFromRequest(cx, req),
  deactivateProjectGrant: (req, cx) =>
    updateGrantWith(cx, req, (tx, id) => deactivateGrant.within(tx, id)),
  activateProjectGrant: (req, cx) =>
    updateGrantWith(cx, req, (tx, id) => activateGrant.within(tx, id)),
  listProjectGrants: (req, cx) => listGrants(cx, req),
})

/** v2 identifies a grant by project and organization. */
type GrantReference = { readonly projectId: string; readonly grantedOrganizationId: string }

async function createFromRequest(cx: Cx, req: CreateProjectGrantRequest) {
  const { projectId, grantedOrganizationId: grantedOrgId, roleKeys } = req
  const { created } = await createGrant(cx, cx.ids.next(), { projectId, grantedOrgId, roleKeys })
  return { creationDate: toTimestamp(created) }
}

async function updateGrantWith(
  cx: Cx,
  reference: GrantReference,
  act: (tx: Transaction, id: string) => void,
) {
  const { projectId, grantedOrganizationId: orgId } = reference
  const step = await cx.store.transact(cx, (tx) => {
    const id = requireGrantId(tx, projectId, orgId)
    act(tx, id)
    return id
  })
  return { changeDate: toTimestamp(step.receipt(projectGrant, step.value).changed) }
}

/** The response has no date if the grant did not exist. */
async function removeFromRequest(cx: Cx, reference: DeleteProjectGrantRequest) {
  const { projectId, grantedOrganizationId: orgId } = reference
  const step = await cx.store.transact(cx, (tx) => {
    const id = findGrantId(tx, projectId, orgId)
    if (id === undefined) return {}
    removeGrant.within(tx, id)
    return { deletionDate: toTimestamp(tx.now) }
  })
  return step.value
}

async function listGrants(cx: Cx, req: ListProjectGrantsRequest) {
  const found = await search<GrantRow>(cx, projectGrants, {
    page: parsePage(req.pagination),
    sort: valueOfEnum(columns, req.sortingColumn ?? ProjectGrantFieldName.UNSPECIFIED),
    filters: req.filters.map((filter) => filterOf(cx, filter, req.filters)),
  })
  const grants = found.rows.map((row) => toGrant(cx, row))
  return { pagination: toPagination(found), projectGrants: grants }
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
      return hasRoleFilter([key, ...others])
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

/** Other filters limit how many roles must be read. */
const narrows: ReadonlySet<string> = new Set([
  "inProjectIdsFilter",
  "organizationIdFilter",
  "grantedOrganizationIdFilter",
])

const toGrant = (cx: Cx, row: GrantRow) => ({
  id: row.id,
  organizationId: row.org,
  creationDate: toTimestamp(row.created),
  changeDate: toTimestamp(row.changed),
  grantedOrganizationId: row.granted_org,
  grantedOrganizationName: row.granted_org_name,
  grantedRoleKeys: [...listGrantedRoles(cx, row.id)],
  projectId: row.project,
  projectName: row.project_name,
  state: row.state === "active" ? ProjectGrantState.ACTIVE : ProjectGrantState.INACTIVE,
})
