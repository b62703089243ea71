import { share } from "../../api/method.ts"
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
import { pageOf } from "../../kernel/page.ts"
import { filterMissingError, meaning, pagination } from "../../protocol/api/answer.ts"
import { type Cx, type Filter, search, textFilter } from "../../store/index.ts"
import { internalFilter } from "../instance/index.ts"
import { toProject } from "../project/api.ts"
import { type HoldingRow, holdings } from "./holding.ts"

/** Owned and granted projects in one list. */
export const v2project = share<Cx>()(ProjectService, {
  listProjects: (req, cx) => list(cx, req),
})

async function list(cx: Cx, req: ListProjectsRequest) {
  const found = await search<HoldingRow>(cx, holdings, {
    page: pageOf(req.pagination),
    sort: meaning(columns, req.sortingColumn ?? ProjectFieldName.UNSPECIFIED),
    filters: req.filters.map((filter) => filterOf(cx, filter)),
  })
  return { pagination: pagination(found), projects: found.rows.map(toHolding) }
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
      return heldBy(filter.value)
    case "internalFilter":
      return internalFilter(cx, "project", filter.value)
    default:
      throw filterMissingError()
  }
}

/** Without a type: both what the organisation owns and what it was granted. */
function heldBy({ organizationId, type }: ProjectOrganizationIDFilter): Filter {
  const held: Filter = { equals: "holder", value: organizationId }
  const isOwn: Filter = { equals: "grant_id", value: "" }
  if (type === HeldHow.OWNED) return { all: [held, isOwn] }
  return type === HeldHow.GRANTED ? { all: [held, { not: isOwn }] } : held
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
