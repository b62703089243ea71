import { bindHandlers } from "../../api/method.ts"
import {
  OrganizationFieldName,
  OrganizationState,
  type SearchQuery,
} from "../../gen/core/org/v2/org_pb.ts"
import {
  type ListOrganizationsRequest,
  OrganizationService,
  type UpdateOrganizationRequest,
} from "../../gen/core/org/v2/organization_service_pb.ts"
import { parsePage } from "../../kernel/page.ts"
import {
  filterMissingError,
  toDetails,
  toTimestamp,
  valueOfEnum,
} from "../../protocol/api/response.ts"
import { type Cx, type Filter, type Receipt, search, textFilter } from "../../store/index.ts"
import { requireInstance } from "../instance/index.ts"
import { activateOrganization, changeOrganization, type OrganizationChange } from "./commands.ts"
import { org } from "./model.ts"
import { parseOrgOidc, toOrgOidc } from "./v2-oidc.ts"
import { type OrgRow, orgs } from "./view.ts"

/** Operations that affect only the organization; the others are in org-cascade. */
export const v2 = bindHandlers<Cx>()(OrganizationService, {
  updateOrganization: async (req, cx) =>
    toChangeResponse(await changeOrganization(cx, req.organizationId, changeIn(req))),
  listOrganizations: (req, cx) => list(cx, req),
  activateOrganization: async (req, cx) =>
    toChangeResponse(await activateOrganization(cx, req.organizationId)),
})

const changeIn = ({ name, oidcSettings }: UpdateOrganizationRequest): OrganizationChange => ({
  ...((name !== "" || !oidcSettings) && { name }),
  ...(oidcSettings && { oidc: parseOrgOidc(oidcSettings) }),
})

const toChangeResponse = (receipt: Receipt) => ({ changeDate: toTimestamp(receipt.changed) })

async function list(cx: Cx, req: ListOrganizationsRequest) {
  const found = await search<OrgRow>(cx, orgs, {
    page: parsePage(req.query),
    sort: valueOfEnum(columns, req.sortingColumn),
    filters: req.queries.map((query) => filterOf(cx, query)),
  })
  return {
    details: {
      totalResult: BigInt(found.total),
      processedSequence: BigInt(cx.store.log.durable()),
      timestamp: toTimestamp(cx.clock.now()),
    },
    sortingColumn: req.sortingColumn,
    result: found.rows.map((row) => toOrganization(cx, row)),
  }
}

const columns = {
  [OrganizationFieldName.UNSPECIFIED]: "created",
  [OrganizationFieldName.NAME]: "name_folded",
  [OrganizationFieldName.CREATION_DATE]: "created",
} as const

function filterOf(cx: Cx, { query }: SearchQuery): Filter {
  switch (query.case) {
    case "nameQuery":
      return textFilter("name", query.value.name, query.value.method)
    case "domainQuery":
      return textFilter("domain", query.value.domain, query.value.method)
    case "stateQuery":
      return valueOfEnum(stateFilters, query.value.state)
    case "idQuery":
      return { equals: "id", value: query.value.id }
    case "defaultQuery":
      return { equals: "id", value: requireInstance(cx).defaultOrgId }
    default:
      throw filterMissingError()
  }
}

const stateFilters: Readonly<Record<OrganizationState, Filter>> = {
  [OrganizationState.UNSPECIFIED]: { all: [] },
  [OrganizationState.ACTIVE]: { equals: "state", value: "active" },
  [OrganizationState.INACTIVE]: { equals: "state", value: "inactive" },
  [OrganizationState.REMOVED]: { any: [] },
}

const toOrganization = (cx: Cx, row: OrgRow) => ({
  id: row.id,
  details: toDetails({ ...row, owner: row.id }),
  state: row.state === "active" ? OrganizationState.ACTIVE : OrganizationState.INACTIVE,
  name: row.name,
  primaryDomain: row.domain,
  oidcSettings: toOrgOidc(cx.store.state(cx, org, row.id).oidc ?? {}),
})
