import { share } from "../../api/method.ts"
import type { ListMyProjectOrgsRequest } from "../../gen/core/auth/v1/auth_service_pb.ts"
import { ManagementService } from "../../gen/core/management/v1/management_service_pb.ts"
import { OrgFieldName, type OrgQuery, OrgState } from "../../gen/core/org/v1/org_pb.ts"
import { at, details, filterMissing, meaning } from "../../kernel/answer.ts"
import { pageOf } from "../../kernel/page.ts"
import { type Cx, type Filter, search, textFilter } from "../../store/index.ts"
import { contextOrg } from "./context.ts"
import { findOrg, type OrgRow, orgs } from "./view.ts"

export const management = share<Cx>()(ManagementService, {
  getMyOrg: (_, cx) => ({ org: toOrg(findOrg(cx, contextOrg(cx))) }),
})

/** The organisations within the scope of `cx`, as v1 lists them. */
export function listOrgs(cx: Cx, req: ListMyProjectOrgsRequest) {
  const found = search<OrgRow>(cx, orgs, {
    page: pageOf(req.query),
    sort: meaning(columns, req.sortingColumn),
    filters: req.queries.map(filterOf),
  })
  return {
    details: {
      totalResult: BigInt(found.total),
      processedSequence: BigInt(cx.store.log.durable()),
      viewTimestamp: at(cx.clock.now()),
    },
    result: found.rows.map(toOrg),
  }
}

const columns = {
  [OrgFieldName.UNSPECIFIED]: "created",
  [OrgFieldName.NAME]: "name_folded",
} as const

function filterOf({ query }: OrgQuery): Filter {
  switch (query.case) {
    case "nameQuery":
      return textFilter("name", query.value.name, query.value.method)
    case "domainQuery":
      return textFilter("domain", query.value.domain, query.value.method)
    case "stateQuery":
      return meaning(stateFilters, query.value.state)
    case "idQuery":
      return { equals: "id", value: query.value.id }
    default:
      throw filterMissing()
  }
}

const stateFilters: Readonly<Record<OrgState, Filter>> = {
  [OrgState.UNSPECIFIED]: { all: [] },
  [OrgState.ACTIVE]: { equals: "state", value: "active" },
  [OrgState.INACTIVE]: { equals: "state", value: "inactive" },
  [OrgState.REMOVED]: { any: [] },
}

const toOrg = (row: OrgRow) => ({
  id: row.id,
  details: details({ ...row, owner: row.id }),
  state: row.state === "active" ? OrgState.ACTIVE : OrgState.INACTIVE,
  name: row.name,
  primaryDomain: row.domain,
})
