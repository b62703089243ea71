import { bindHandlers } from "../../../api/method.ts"
import { AdminService } from "../../../gen/core/admin/v1/admin_service_pb.ts"
import { AuthService } from "../../../gen/core/auth/v1/auth_service_pb.ts"
import {
  type AddProjectRequest,
  ManagementService,
} from "../../../gen/core/management/v1/management_service_pb.ts"
import type { ListQuery } from "../../../gen/core/v1/object_pb.ts"
import type { Scope } from "../../../kernel/context.ts"
import { parsePage } from "../../../kernel/page.ts"
import { toDetails, toTimestamp, valueOfEnum } from "../../../protocol/api/response.ts"
import { type Cx, paginate } from "../../../store/index.ts"
import { listOrgs } from "../../org/api.ts"
import { contextOrg } from "../../org/index.ts"
import { privateLabelings } from "../../project/index.ts"
import { assignableRoles } from "../commands.ts"
import { createProjectWithAdmins } from "../create.ts"
import { permissionsOfRole, stateReader } from "../custom-role.ts"
import type { Target } from "../model.ts"
import { orgIdsOf } from "../rank.ts"
import { listMemberships } from "../view.ts"

export const management = bindHandlers<Cx>()(ManagementService, {
  addProject: (req, cx) => addProject(cx, req),
  listOrgMemberRoles: (_, cx) => ({ result: assignableRoles(stateReader(cx), "org").toSorted() }),
  listProjectMemberRoles: (_, cx) => rolesOf(cx, "project"),
  listProjectGrantMemberRoles: ({ query }, cx) => rolesOf(cx, "grant", query),
})

export const admin = bindHandlers<Cx>()(AdminService, {
  listIAMMemberRoles: (_, cx) => {
    const { details, result } = rolesOf(cx, "instance")
    return { details, roles: result }
  },
})

/**
 * The names of the roles of a level; callers who can read its administrators can list its roles.
 */
function rolesOf(cx: Cx, level: Target["level"], query?: ListQuery) {
  const found = paginate(cx, assignableRoles(stateReader(cx), level), {
    page: parsePage(query ?? { asc: true }),
    requested: ["role names", level],
    by: (name) => [name],
  })
  return {
    details: {
      totalResult: BigInt(found.total),
      processedSequence: BigInt(cx.store.log.durable()),
      viewTimestamp: toTimestamp(cx.clock.now()),
    },
    result: [...found.rows],
  }
}

export const auth = bindHandlers<Cx>()(AuthService, {
  listMyProjectOrgs: (req, cx) => listOrgs({ ...cx, scope: callerScope(cx) }, req),
})

async function addProject(cx: Cx, req: AddProjectRequest) {
  const id = cx.ids.next()
  const receipt = await createProjectWithAdmins(cx, id, {
    orgId: contextOrg(cx),
    name: req.name,
    projectRoleAssertion: req.projectRoleAssertion,
    projectRoleCheck: req.projectRoleCheck,
    hasProjectCheck: req.hasProjectCheck,
    privateLabelingSetting: valueOfEnum(privateLabelings, req.privateLabelingSetting),
    admins: req.admins,
  })
  return { id, details: toDetails(receipt) }
}

/** The caller's own organization, and those where one of their roles applies. */
function callerScope(cx: Cx): Scope {
  const { caller } = cx
  if (caller.kind !== "user") return { all: false, orgs: [], projects: [], grants: [] }
  const ownMemberships = listMemberships(cx, caller.userId)
  const read = stateReader(cx)
  const readsOrgs = (role: string) => permissionsOfRole(read, role).has("org.read")
  return {
    all: ownMemberships.some(({ level, roles }) => level === "instance" && roles.some(readsOrgs)),
    orgs: [caller.orgId, ...ownMemberships.flatMap((each) => orgIdsOf(cx, each))],
    projects: [],
    grants: [],
  }
}
