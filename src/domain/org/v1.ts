import { bindHandlers } from "../../api/method.ts"
import { AdminService } from "../../gen/core/admin/v1/admin_service_pb.ts"
import type { ListMyProjectOrgsRequest } from "../../gen/core/auth/v1/auth_service_pb.ts"
import { ManagementService } from "../../gen/core/management/v1/management_service_pb.ts"
import { OrgFieldName, type OrgQuery, OrgState } from "../../gen/core/org/v1/org_pb.ts"
import { contextOrg } from "../../kernel/context.ts"
import { Fault } from "../../kernel/fault.ts"
import { parsePage } from "../../kernel/page.ts"
import {
  filterMissingError,
  toDetails,
  toTimestamp,
  valueOfEnum,
} from "../../protocol/api/response.ts"
import { type Cx, type Filter, type Receipt, search, textFilter } from "../../store/index.ts"
import { findInstance, instance, setDefaultOrg } from "../instance/index.ts"
import { requireExists, setPrimaryDomain } from "./domain.ts"
import { org } from "./model.ts"
import { findOrg, findOrgByVerifiedDomain, type OrgRow, orgs } from "./view.ts"

export const management = bindHandlers<Cx>()(ManagementService, {
  getMyOrg: (_, cx) => ({ org: toOrg(findOrg(cx, contextOrg(cx))) }),
  getOrgByDomainGlobal: ({ domain }, cx) => ({
    org: toOrg(findOrg(cx, findOrgByVerifiedDomain(cx, domain) ?? "")),
  }),
  setPrimaryOrgDomain: async ({ domain }, cx) => ({
    details: toDetails(await setPrimary(cx, contextOrg(cx), domain)),
  }),
})

export const admin = bindHandlers<Cx>()(AdminService, {
  setDefaultOrg: async ({ orgId }, cx) => {
    await setDefault(cx, orgId)
    return { details: toDetails(findInstance(cx)) }
  },
})

async function setPrimary(cx: Cx, orgId: string, domain: string): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => {
    const before = tx.state(org, orgId)
    setPrimaryDomain.within(tx, orgId, domain)
    if (tx.state(org, orgId) === before) throw unchangedError()
  })
  return step.receipt(org, orgId)
}

/** Sets the default organization, which must be active. */
async function setDefault(cx: Cx, orgId: string): Promise<void> {
  await cx.store.transact(cx, (tx) => {
    const state = tx.state(org, orgId)
    requireExists(state)
    if (state.status === "inactive") throw inactiveError()
    if (tx.state(instance, tx.instance).defaultOrgId === orgId) throw unchangedError()
    setDefaultOrg.within(tx, tx.instance, orgId)
  })
}

/** v1 rejects updates that change nothing; v2 accepts them. */
const unchangedError = () =>
  new Fault(
    "failed_precondition",
    "org.unchanged",
    "nothing to update: the organization already has these values",
  )

const inactiveError = () =>
  new Fault(
    "failed_precondition",
    "org.inactive",
    "the organization is deactivated; reactivate it first",
  )

/** The organizations within the scope of `cx`, in the form of v1. */
export async function listOrgs(cx: Cx, req: ListMyProjectOrgsRequest) {
  const found = await search<OrgRow>(cx, orgs, {
    page: parsePage(req.query),
    sort: valueOfEnum(columns, req.sortingColumn),
    filters: req.queries.map(filterOf),
  })
  return {
    details: {
      totalResult: BigInt(found.total),
      processedSequence: BigInt(cx.store.log.durable()),
      viewTimestamp: toTimestamp(cx.clock.now()),
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
      return valueOfEnum(stateFilters, query.value.state)
    case "idQuery":
      return { equals: "id", value: query.value.id }
    default:
      throw filterMissingError()
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
  details: toDetails({ ...row, owner: row.id }),
  state: row.state === "active" ? OrgState.ACTIVE : OrgState.INACTIVE,
  name: row.name,
  primaryDomain: row.domain,
})
