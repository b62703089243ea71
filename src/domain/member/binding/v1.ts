import { share } from "../../../api/method.ts"
import { AdminService } from "../../../gen/core/admin/v1/admin_service_pb.ts"
import { AuthService } from "../../../gen/core/auth/v1/auth_service_pb.ts"
import {
  type AddProjectRequest,
  ManagementService,
} from "../../../gen/core/management/v1/management_service_pb.ts"
import type { ListQuery } from "../../../gen/core/v1/object_pb.ts"
import type { Scope } from "../../../kernel/context.ts"
import { pageOf } from "../../../kernel/page.ts"
import { at, details, meaning } from "../../../protocol/api/answer.ts"
import { type Cx, windowOf } from "../../../store/index.ts"
import { listOrgs } from "../../org/api.ts"
import { contextOrg } from "../../org/index.ts"
import { labelings } from "../../project/index.ts"
import { rolesFor } from "../commands.ts"
import { createProjectWithAdmins } from "../create.ts"
import { permissionsIn, stateReader } from "../custom-role.ts"
import type { Target } from "../model.ts"
import { orgOf } from "../rank.ts"
import { memberships } from "../view.ts"

export const management = share<Cx>()(ManagementService, {
  addProject: (req, cx) => addProject(cx, req),
  listOrgMemberRoles: (_, cx) => ({ result: rolesFor(stateReader(cx), "org").toSorted() }),
  listProjectMemberRoles: (_, cx) => rolesOf(cx, "project"),
  listProjectGrantMemberRoles: ({ query }, cx) => rolesOf(cx, "grant", query),
})

export const admin = share<Cx>()(AdminService, {
  listIAMMemberRoles: (_, cx) => {
    const { details, result } = rolesOf(cx, "instance")
    return { details, roles: result }
  },
})

/** The roles of a level, by name; who may look at its administrators may know what they can be. */
function rolesOf(cx: Cx, level: Target["level"], query?: ListQuery) {
  const found = windowOf(cx, rolesFor(stateReader(cx), level), {
    page: pageOf(query ?? { asc: true }),
    requested: ["role names", level],
    by: (name) => [name],
  })
  return {
    details: {
      totalResult: BigInt(found.total),
      processedSequence: BigInt(cx.store.log.durable()),
      viewTimestamp: at(cx.clock.now()),
    },
    result: [...found.rows],
  }
}

export const auth = share<Cx>()(AuthService, {
  listMyProjectOrgs: (req, cx) => listOrgs({ ...cx, scope: mine(cx) }, req),
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

/** The caller's own organisation and those in which a role of theirs reaches something. */
function mine(cx: Cx): Scope {
  const { caller } = cx
  if (caller.kind !== "user") return { all: false, orgs: [], projects: [], grants: [] }
  const held = memberships(cx, caller.userId)
  const read = stateReader(cx)
  const readsOrgs = (role: string) => permissionsIn(read, role).has("org.read")
  return {
    all: held.some(({ level, roles }) => level === "instance" && roles.some(readsOrgs)),
    orgs: [caller.orgId, ...held.flatMap((each) => orgOf(cx, each))],
    projects: [],
    grants: [],
  }
}
