import { share } from "../../api/method.ts"
import { AuthService } from "../../gen/core/auth/v1/auth_service_pb.ts"
import {
  type AddProjectRequest,
  ManagementService,
} from "../../gen/core/management/v1/management_service_pb.ts"
import { details, meaning } from "../../kernel/answer.ts"
import type { Scope } from "../../kernel/context.ts"
import type { Cx } from "../../store/index.ts"
import { contextOrg, listOrgs } from "../org/index.ts"
import { labelings, project } from "../project/index.ts"
import { createProjectWithAdmins } from "./create.ts"
import { permissionsOf } from "./roles.ts"
import { memberships } from "./view.ts"

export const management = share<Cx>()(ManagementService, {
  addProject: (req, cx) => addProject(cx, req),
})

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
