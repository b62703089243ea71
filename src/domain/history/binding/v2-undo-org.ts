import { InternalPermissionService } from "../../../gen/core/internal_permission/v2/internal_permission_service_pb.ts"
import { ManagementService } from "../../../gen/core/management/v1/management_service_pb.ts"
import { OrganizationService } from "../../../gen/core/org/v2/organization_service_pb.ts"
import type { Cx } from "../../../store/index.ts"
import { customRoles, member } from "../../member/index.ts"
import { toOrgOidc } from "../../org/api.ts"
import { org } from "../../org/index.ts"
import { projectGrant } from "../../project-grant/index.ts"
import { type Asked, type Reason, undoing } from "../undo/way.ts"
import { ask, back, given } from "./v2-undo-ask.ts"
import { bytesIn } from "./v2-undo-user.ts"

const service = OrganizationService.method

export const orgs = undoing(org, {
  "org.added": "creation",
  "org.changed": ({ id, before }) =>
    ask(service.updateOrganization, { organizationId: id, name: before.name }),
  "org.oidc.settings.set": ({ id, before }) =>
    ask(service.updateOrganization, {
      ...{ organizationId: id, oidcSettings: toOrgOidc(before.oidc ?? {}) },
    }),
  "org.deactivated": ({ id }) => ask(service.activateOrganization, { organizationId: id }),
  "org.reactivated": ({ id }) => ask(service.deactivateOrganization, { organizationId: id }),
  "org.removed": "removal",
  "org.domain.added": "creation",
  "org.domain.verification.added": "proof",
  "org.domain.trusted": "proof",
  "org.domain.verified": "proof",
  "org.domain.removed": "removal",
  "org.domain.primary.set": ({ before: { primaryDomain: domain } }) =>
    domain === "" ? "parts" : ask(ManagementService.method.setPrimaryOrgDomain, { domain }),
  "org.metadata.set": {
    part: ({ key }) => key,
    ask: ({ id: organizationId, event }, earlier) => {
      const { key } = event.data
      if (!earlier || earlier.type === "org.metadata.removed") {
        return ask(service.deleteOrganizationMetadata, { organizationId, keys: [key] })
      }
      const value = bytesIn(earlier)
      if (!value) return "parts"
      return ask(service.setOrganizationMetadata, { organizationId, metadata: [{ key, value }] })
    },
  },
  "org.metadata.removed": "removal",
})

const { createAdministrator, updateAdministrator, deleteAdministrator } =
  InternalPermissionService.method

/** Who holds roles where, as the id of their stream says it. */
function standingOf(cx: Cx, id: string) {
  const [level = "", thing = "", userId = ""] = id.split("/").map(decodeURIComponent)
  return { userId, resource: { resource: resourceOf(cx, level, thing) } }
}

function resourceOf(cx: Cx, level: string, id: string) {
  if (level === "org") return { case: "organizationId", value: id } as const
  if (level === "project") return { case: "projectId", value: id } as const
  const { projectId, grantedOrgId: organizationId } = cx.store.state(cx, projectGrant, id)
  return { case: "projectGrant", value: { projectId, organizationId } } as const
}

type OfMember = {
  readonly cx: Cx
  readonly id: string
  readonly before: { readonly roles: readonly string[] }
}

const first = ({ cx, id }: OfMember): Asked => ask(deleteAdministrator, standingOf(cx, id))
const changed = ({ cx, id, before }: OfMember): Asked =>
  ask(updateAdministrator, { ...standingOf(cx, id), roles: [...before.roles] })
const taken = ({ cx, id, before }: OfMember): Asked | Reason =>
  before.roles.length === 0
    ? "parts"
    : ask(createAdministrator, { ...standingOf(cx, id), roles: [...before.roles] })

/** To give and to take roles is to change what somebody may; nothing hangs from them. */
export const members = undoing(member, {
  "org.member.added": first,
  "org.member.changed": changed,
  "org.member.removed": taken,
  "project.member.added": first,
  "project.member.changed": changed,
  "project.member.removed": taken,
  "project.grant.member.added": first,
  "project.grant.member.changed": changed,
  "project.grant.member.removed": taken,
})

export const roles = undoing(customRoles, {
  "role.added": "creation",
  "role.changed": ({ event: { data }, before, after }) => {
    const [was, is] = [before.roles[data.key], after.roles[data.key]]
    if (!was || !is) return "parts"
    const { displayName, permissions } = back(was, is)
    return ask(InternalPermissionService.method.updateRole, {
      key: data.key,
      ...given({ displayName }),
      ...(permissions && { permissions: [...permissions] }),
    })
  },
  "role.removed": "removal",
})
