import { bindHandlers } from "../../api/method.ts"
import {
  AuthorizationService,
  type ListEffectiveRolesRequest,
} from "../../gen/core/authorization/v2/authorization_service_pb.ts"
import { parsePage } from "../../kernel/page.ts"
import { toPagination } from "../../protocol/api/response.ts"
import { type Cx, paginate } from "../../store/index.ts"
import { group } from "../group/index.ts"
import { permissionsOn, stateReader, type Target } from "../member/index.ts"
import { org } from "../org/index.ts"
import { project } from "../project/index.ts"
import { type EffectiveRoles, listEffectiveRoles } from "./effective.ts"
import { listGroupRolesOf } from "./group/view.ts"
import { listRolesOf } from "./view.ts"

/**
 * The project roles that users have now, with the organization or group that they have them from.
 */
export const v2effective = bindHandlers<Cx>()(AuthorizationService, {
  listEffectiveRoles: (req, cx) => listRoles(cx, req),
})

function listRoles(
  cx: Cx,
  { userId, projectId, pagination: requested }: ListEffectiveRolesRequest,
) {
  const all = listEffectiveRoles(cx, userId, projectId).filter(
    (each) => isCaller(cx, userId) || canRead(cx, each),
  )
  const found = paginate(cx, all, {
    page: parsePage(requested),
    requested: ["effective roles", userId, projectId ?? ""],
    by: ({ projectId, authorizationId }) => [projectId, authorizationId],
  })
  return {
    pagination: toPagination(found),
    effectiveRoles: found.rows.map((each) => toEffectiveRoles(cx, each)),
  }
}

const isCaller = ({ caller }: Cx, userId: string): boolean =>
  caller.kind === "user" && caller.userId === userId

/** Whether the caller can see the authorization in the list of authorizations. */
function canRead(cx: Cx, { projectId, grantId }: EffectiveRoles): boolean {
  const { caller } = cx
  if (caller.kind !== "user") return caller.kind === "system"
  const target: Target = grantId
    ? { level: "grant", id: grantId }
    : { level: "project", id: projectId }
  const read = { ...stateReader(cx), caller }
  return permissionsOn(read, target, caller.userId).has("user.grant.read")
}

function toEffectiveRoles(cx: Cx, each: EffectiveRoles) {
  const { projectId, orgId, authorizationId, groupId, keys } = each
  const { name, orgId: organizationId } = cx.store.state(cx, project, projectId)
  const roles = groupId ? listGroupRolesOf(cx, authorizationId) : listRolesOf(cx, authorizationId)
  return {
    project: { id: projectId, name, organizationId },
    organization: { id: orgId, name: cx.store.state(cx, org, orgId).name },
    roles: roles.filter(({ key }) => keys.includes(key)),
    authorizationId,
    ...(groupId && { group: { id: groupId, name: cx.store.state(cx, group, groupId).name } }),
  }
}
