import { bindHandlers } from "../../api/method.ts"
import {
  type ListGrantedProjectRolesRequest,
  type ListGrantedProjectsRequest,
  ManagementService,
} from "../../gen/core/management/v1/management_service_pb.ts"
import { ProjectGrantState, type ProjectQuery } from "../../gen/core/project/v1/project_pb.ts"
import { parsePage, type SearchResult } from "../../kernel/page.ts"
import { filterMissingError, toDetails, toTimestamp } from "../../protocol/api/response.ts"
import { type Cx, type Filter, search, textFilter } from "../../store/index.ts"
import { contextOrg } from "../org/index.ts"
import { roleFilter, toRole } from "../project/api.ts"
import { searchRoles } from "../project/index.ts"
import { grantNotFoundError } from "./commands.ts"
import { listGrantedRoles } from "./query.ts"
import { findGrantRow, type GrantRow, projectGrants } from "./view.ts"

/** Projects that were granted to an organization. */
export const management = bindHandlers<Cx>()(ManagementService, {
  listGrantedProjects: (req, cx) => listGrantedProjects(cx, req),
  getGrantedProjectByID: async (req, cx) => {
    const row = await findGrantRow(cx, req.grantId)
    if (!row) throw grantNotFoundError()
    return { grantedProject: toGranted(cx, row) }
  },
  listGrantedProjectRoles: (req, cx) => listRoles(cx, req),
})

async function listGrantedProjects(cx: Cx, req: ListGrantedProjectsRequest) {
  const found = await search<GrantRow>(cx, projectGrants, {
    page: parsePage(req.query),
    filters: [{ equals: "granted_org", value: contextOrg(cx) }, ...req.queries.map(filterOf)],
  })
  return { details: listDetails(cx, found), result: found.rows.map((row) => toGranted(cx, row)) }
}

function filterOf({ query }: ProjectQuery): Filter {
  switch (query.case) {
    case "nameQuery":
      return textFilter("project_name", query.value.name, query.value.method)
    case "projectResourceOwnerQuery":
      return { equals: "org", value: query.value.resourceOwner }
    default:
      throw filterMissingError()
  }
}

async function listRoles(cx: Cx, req: ListGrantedProjectRolesRequest) {
  const granted: Filter = { oneOf: "role_key", values: listGrantedRoles(cx, req.grantId) }
  const found = await searchRoles(cx, req.projectId, {
    page: parsePage(req.query),
    filters: [granted, ...req.queries.map(roleFilter)],
  })
  return { details: listDetails(cx, found), result: found.rows.map(toRole) }
}

const listDetails = (cx: Cx, result: SearchResult<unknown>) => ({
  totalResult: BigInt(result.total),
  processedSequence: BigInt(cx.store.log.durable()),
  viewTimestamp: toTimestamp(cx.clock.now()),
})

const toGranted = (cx: Cx, row: GrantRow) => ({
  grantId: row.id,
  grantedOrgId: row.granted_org,
  grantedOrgName: row.granted_org_name,
  grantedRoleKeys: [...listGrantedRoles(cx, row.id)],
  state: row.state === "active" ? ProjectGrantState.ACTIVE : ProjectGrantState.INACTIVE,
  projectId: row.project,
  projectName: row.project_name,
  projectOwnerId: row.org,
  projectOwnerName: row.org_name,
  details: toDetails({ ...row, owner: row.org }),
})
