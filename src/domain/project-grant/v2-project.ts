import { bindHandlers } from "../../api/method.ts"
import {
  GrantedProjectState,
  ProjectOrganizationIDFilter_Type as HeldHow,
  ProjectFieldName,
  type ProjectOrganizationIDFilter,
  type ProjectSearchFilter,
} from "../../gen/core/project/v2/project_pb.ts"
import {
  type ListProjectsRequest,
  ProjectService,
} from "../../gen/core/project/v2/project_service_pb.ts"
import { parsePage } from "../../kernel/page.ts"
import { filterMissingError, toPagination, valueOfEnum } from "../../protocol/api/response.ts"
import { type Cx, type Filter, search, textFilter } from "../../store/index.ts"
import { internalFilter } from "../instance/index.ts"
import { toProject } from "../project/api.ts"
import { type HoldingRow, holdings } from "./holding.ts"

/** Owned and granted projects in one list. */
export const v2project = bindHandlers<Cx>()(ProjectService, {
  listProjects: (req, cx) => listProjects(cx, req),
})

async function listProjects(cx: Cx, req: ListProjectsRequest) {
  const found = await search<HoldingRow>(cx, holdings, {
    page: parsePage(req.pagination),
    sort: valueOfEnum(columns, req.sortingColumn ?? ProjectFieldName.UNSPECIFIED),
    filters: req.filters.map((filter) => filterOf(cx, filter)),
  })
  return { pagination: toPagination(found), projects: found.rows.map(toHolding) }
}

const columns = {
  [ProjectFieldName.UNSPECIFIED]: "created",
  [ProjectFieldName.ID]: "project",
  [ProjectFieldName.CREATION_DATE]: "created",
  [ProjectFieldName.CHANGE_DATE]: "changed",
  [ProjectFieldName.NAME]: "name_folded",
} as const

function filterOf(cx: Cx, { filter }: ProjectSearchFilter): Filter {
  switch (filter.case) {
    case "projectNameFilter":
      return textFilter("name", filter.value.projectName, filter.value.method)
    case "inProjectIdsFilter":
      return { oneOf: "project", values: filter.value.ids }
    case "organizationIdFilter":
      return holderFilter(filter.value)
    case "internalFilter":
      return internalFilter(cx, "project", filter.value)
    default:
      throw filterMissingError()
  }
}

/** Without a type, both the projects that the organization owns and those granted to it. */
function holderFilter({ organizationId, type }: ProjectOrganizationIDFilter): Filter {
  const holderFilterValue: Filter = { equals: "holder", value: organizationId }
  const isOwn: Filter = { equals: "grant_id", value: "" }
  if (type === HeldHow.OWNED) return { all: [holderFilterValue, isOwn] }
  return type === HeldHow.GRANTED ? { all: [holderFilterValue, { not: isOwn }] } : holderFilterValue
}

function toHolding(row: HoldingRow) {
  const project = toProject({ ...row, id: row.project })
  if (row.grant_id === "") return project
  const { ACTIVE, INACTIVE } = GrantedProjectState
  return {
    ...project,
    grantedOrganizationId: row.holder,
    grantedOrganizationName: row.holder_name,
    grantedState: row.grant_state === "active" ? ACTIVE : INACTIVE,
  }
}
