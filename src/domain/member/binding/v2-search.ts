import type { MessageInitShape } from "@bufbuild/protobuf"
import { bindHandlers } from "../../../api/method.ts"
import {
  AdministratorFieldName,
  type AdministratorSchema,
  type AdministratorSearchFilter,
  type ResourceFilter,
} from "../../../gen/core/internal_permission/v2/internal_permission_pb.ts"
import {
  InternalPermissionService,
  type ListAdministratorsRequest,
} from "../../../gen/core/internal_permission/v2/internal_permission_service_pb.ts"
import { Fault } from "../../../kernel/fault.ts"
import { parsePage } from "../../../kernel/page.ts"
import {
  filterMissingError,
  toPagination,
  toTimestamp,
  valueOfEnum,
} from "../../../protocol/api/response.ts"
import { type Cx, type Filter, textFilter } from "../../../store/index.ts"
import { timeFilter } from "../../family/api.ts"
import type { Target } from "../model.ts"
import { type AdministratorRow, findGrantTarget, searchAdministrators } from "../view.ts"

export const v2search = bindHandlers<Cx>()(InternalPermissionService, {
  listAdministrators: (req, cx) => listAdministrators(cx, req),
})

async function listAdministrators(cx: Cx, req: ListAdministratorsRequest) {
  const found = await searchAdministrators(cx, {
    page: parsePage(req.pagination),
    sort: valueOfEnum(columns, req.sortingColumn),
    filters: req.filters.map((filter) => filterOf(cx, filter, 1)),
  })
  return { pagination: toPagination(found), administrators: found.rows.map(toAdministrator) }
}

const columns = {
  [AdministratorFieldName.UNSPECIFIED]: "created",
  [AdministratorFieldName.USER_ID]: "user_id",
  [AdministratorFieldName.CREATION_DATE]: "created",
  [AdministratorFieldName.CHANGE_DATE]: "changed",
} as const

/** Filters can be nested; no real query is deeper. */
const filterDepthMax = 10

function filterOf(cx: Cx, { filter }: AdministratorSearchFilter, depth: number): Filter {
  if (depth > filterDepthMax) {
    const message = `filters can be nested at most ${filterDepthMax} levels deep`
    throw new Fault("invalid_argument", "search.filter_too_deep", message)
  }
  const inner = (each: AdministratorSearchFilter) => filterOf(cx, each, depth + 1)
  switch (filter.case) {
    case "creationDate":
      return timeFilter("created", filter.value)
    case "changeDate":
      return timeFilter("changed", filter.value)
    case "inUserIdsFilter":
      return { oneOf: "user_id", values: filter.value.ids }
    case "userOrganizationId":
      return { equals: "user_org", value: filter.value.id }
    case "userPreferredLoginName":
      return textFilter("login_name", filter.value.preferredLoginName, filter.value.method)
    case "userDisplayName":
      return textFilter("display_name", filter.value.displayName, filter.value.method)
    case "resource":
      return resourceFilter(cx, filter.value)
    case "role":
      return { text: "roles", method: "contains", value: `|${filter.value.roleKey}|` }
    case "and":
      return { all: filter.value.queries.map(inner) }
    case "or":
      return { any: filter.value.queries.map(inner) }
    case "not":
      if (!filter.value.query) throw filterMissingError()
      return { not: inner(filter.value.query) }
    default:
      throw filterMissingError()
  }
}

/** A filter for rows that belong to one resource. */
export function resourceFilter(cx: Cx, { resource }: ResourceFilter): Filter {
  switch (resource.case) {
    case "instance":
      return { equals: "level", value: "instance" }
    case "organizationId":
      return onTarget({ level: "org", id: resource.value })
    case "projectId":
      return onTarget({ level: "project", id: resource.value })
    case "projectGrant": {
      const grant = findGrantTarget(cx, resource.value)
      return grant ? onTarget(grant) : { any: [] }
    }
    default:
      throw filterMissingError()
  }
}

const onTarget = ({ level, id }: Exclude<Target, { level: "instance" }>): Filter => ({
  all: [
    { equals: "level", value: level },
    { equals: "target", value: id },
  ],
})

const toAdministrator = (row: AdministratorRow): MessageInitShape<typeof AdministratorSchema> => ({
  creationDate: toTimestamp(row.created),
  changeDate: toTimestamp(row.changed),
  user: {
    id: row.user_id,
    preferredLoginName: row.login_name,
    displayName: row.display_name,
    organizationId: row.user_org,
  },
  resource: resourceOf(row),
  roles: [...row.roles],
})

type ResourceRow = Pick<
  AdministratorRow,
  "level" | "target" | "org" | "org_name" | "project" | "project_name" | "project_org"
>

/** The resource of a row, as a message. */
export function resourceOf(
  row: ResourceRow,
): NonNullable<MessageInitShape<typeof AdministratorSchema>["resource"]> {
  if (row.level === "instance") return { case: "instance", value: true }
  const { target: id } = row
  if (row.level === "org") {
    return { case: "organization", value: { id, name: row.org_name ?? "" } }
  }
  const name = row.project_name ?? ""
  if (row.level === "project") {
    return { case: "project", value: { id, name, organizationId: row.org } }
  }
  return {
    case: "projectGrant",
    value: {
      id,
      projectId: row.project,
      projectName: name,
      organizationId: row.project_org ?? "",
      grantedOrganizationId: row.org,
    },
  }
}
