import { share } from "../../api/method.ts"
import { AdminService } from "../../gen/core/admin/v1/admin_service_pb.ts"
import type { ListMyProjectOrgsRequest } from "../../gen/core/auth/v1/auth_service_pb.ts"
import { ManagementService } from "../../gen/core/management/v1/management_service_pb.ts"
import { OrgFieldName, type OrgQuery, OrgState } from "../../gen/core/org/v1/org_pb.ts"
import { contextOrg } from "../../kernel/context.ts"
import { Fault } from "../../kernel/fault.ts"
import { pageOf } from "../../kernel/page.ts"
import { at, details, filterMissingError, meaning } from "../../protocol/api/answer.ts"
import { type Cx, type Filter, type Receipt, search, textFilter } from "../../store/index.ts"
import { findInstance, instance, setDefaultOrg } from "../instance/index.ts"
import { mustExist, setPrimaryDomain } from "./domain.ts"
import { org } from "./model.ts"
import { findOrg, type OrgRow, orgOfProvenDomain, orgs } from "./view.ts"

export const management = share<Cx>()(ManagementService, {
  getMyOrg: (_, cx) => ({ org: toOrg(findOrg(cx, contextOrg(cx))) }),
  getOrgByDomainGlobal: ({ domain }, cx) => ({
    org: toOrg(findOrg(cx, orgOfProvenDomain(cx, domain) ?? "")),
  }),
  setPrimaryOrgDomain: async ({ domain }, cx) => ({
    details: details(await choosePrimary(cx, contextOrg(cx), domain)),
  }),
})

export const admin = share<Cx>()(AdminService, {
  setDefaultOrg: async ({ orgId }, cx) => {
    await chooseDefault(cx, orgId)
    return { details: details(findInstance(cx)) }
  },
})

async function choosePrimary(cx: Cx, orgId: string, domain: string): Promise<Receipt> {
  const step = await cx.store.transact(cx, (tx) => {
    const before = tx.state(org, orgId)
    setPrimaryDomain.within(tx, orgId, domain)
    if (tx.state(org, orgId) === before) throw unchangedError()
  })
  return step.receipt(org, orgId)
}

/** The organisation of whoever comes without one; it must be one that people can use. */
async function chooseDefault(cx: Cx, orgId: string): Promise<void> {
  await cx.store.transact(cx, (tx) => {
    const state = tx.state(org, orgId)
    mustExist(state)
    if (state.status === "inactive") throw stoppedError()
    if (tx.state(instance, tx.instance).defaultOrgId === orgId) throw unchangedError()
    setDefaultOrg.within(tx, tx.instance, orgId)
  })
}

/** v1 tells callers who change nothing so, where v2 lets them pass. */
const unchangedError = () =>
  new Fault("failed_precondition", "org.unchanged", "no changes: it is so already")

const stoppedError = () =>
  new Fault(
    "failed_precondition",
    "org.inactive",
    "the organisation is deactivated; activate it first",
  )

/** The organisations within the scope of `cx`, as v1 lists them. */
export async function listOrgs(cx: Cx, req: ListMyProjectOrgsRequest) {
  const found = await search<OrgRow>(cx, orgs, {
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
  details: details({ ...row, owner: row.id }),
  state: row.state === "active" ? OrgState.ACTIVE : OrgState.INACTIVE,
  name: row.name,
  primaryDomain: row.domain,
})
