import { share } from "../../api/method.ts"
import {
  AuthService,
  type ListMyProjectOrgsRequest,
} from "../../gen/core/auth/v1/auth_service_pb.ts"
import {
  type AddProjectRequest,
  ManagementService,
} from "../../gen/core/management/v1/management_service_pb.ts"
import { OrgFieldName, type OrgQuery, OrgState } from "../../gen/core/org/v1/org_pb.ts"
import { at, details, filterMissing, meaning } from "../../kernel/answer.ts"
import type { Scope } from "../../kernel/context.ts"
import { pageOf } from "../../kernel/page.ts"
import { type Cx, type Filter, search, textFilter } from "../../store/index.ts"
import { contextOrg, type OrgRow, orgs } from "../org/index.ts"
import { project } from "../project/index.ts"
import { createProjectWithAdmins } from "./create.ts"
import { permissionsOf } from "./roles.ts"
import { memberships } from "./view.ts"

export const management = share<Cx>()(ManagementService, {
  addProject: (req, cx) => addProject(cx, req),
})

export const auth = share<Cx>()(AuthService, {
  listMyProjectOrgs: (req, cx) => listOrgs(cx, req),
})

async function addProject(cx: Cx, req: AddProjectRequest) {
  const id = cx.ids.next()
  const receipt = await createProjectWithAdmins(cx, id, {
    orgId: contextOrg(cx),
    name: req.name,
    projectRoleAssertion: req.projectRoleAssertion,
    projectRoleCheck: req.projectRoleCheck,
    hasProjectCheck: req.hasProjectCheck,
    privateLabelingSetting: meaning(labelings, req.privateLabelingSetting),
    admins: req.admins,
  })
  return { id, details: details(receipt) }
}

const labelings = ["unspecified", "project_owner", "login_user"] as const

function listOrgs(cx: Cx, req: ListMyProjectOrgsRequest) {
  const found = search<OrgRow>({ ...cx, scope: mine(cx) }, orgs, {
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

/** The caller's own organisation and those in which a role of theirs reaches something. */
function mine(cx: Cx): Scope {
  const { caller } = cx
  if (caller.kind !== "user") return { all: false, orgs: [], projects: [], grants: [] }
  const held = memberships(cx, caller.userId)
  return {
    all: held.some(({ level, roles }) => level === "instance" && roles.some(readsOrgs)),
    orgs: [caller.orgId, ...held.flatMap((each) => orgOf(cx, each))],
    projects: [],
    grants: [],
  }
}

const readsOrgs = (role: string) => permissionsOf(role).has("org.read")

function orgOf(cx: Cx, { level, id }: { level: string; id: string }): readonly string[] {
  if (level === "org") return [id]
  return level === "project" ? [cx.store.state(cx, project, id).orgId] : []
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
