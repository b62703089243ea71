import { bindHandlers } from "../../../api/method.ts"
import {
  AuthService,
  type ListMyMembershipsRequest,
} from "../../../gen/core/auth/v1/auth_service_pb.ts"
import type { MembershipQuery } from "../../../gen/core/user/v1/user_pb.ts"
import { requireUserId } from "../../../kernel/context.ts"
import { parsePage } from "../../../kernel/page.ts"
import { filterMissingError, toDetails, toTimestamp } from "../../../protocol/api/response.ts"
import type { Cx, Filter } from "../../../store/index.ts"
import { instance } from "../../instance/index.ts"
import { contextOrg } from "../../org/index.ts"
import { rolePermissions } from "../custom-role.ts"
import { member, memberId } from "../model.ts"
import { orgIdsOf } from "../rank.ts"
import {
  type AdministratorRow,
  listMemberships,
  type Membership,
  searchAdministrators,
} from "../view.ts"

/** The permissions and memberships of the caller. */
export const ownPermissions = bindHandlers<Cx>()(AuthService, {
  listMyCorePermissions: (_, cx) => ({ result: permissionsIn(cx, contextOrg(cx)) }),
  listMyMemberships: (req, cx) => listMyMemberships(cx, req),
})

/** Permissions on a project or a project grant alone have its ID appended: "project.read:123". */
function permissionsIn(cx: Cx, orgId: string): string[] {
  const reaching = listMemberships(cx, requireUserId(cx)).filter(
    (each) => each.level === "instance" || orgIdsOf(cx, each).includes(orgId),
  )
  return [...new Set(reaching.flatMap((each) => permissionsOf(cx, each)))].toSorted()
}

function permissionsOf(cx: Cx, { level, id, roles }: Membership): readonly string[] {
  const permissions = roles.flatMap((role) => [...rolePermissions(role, cx)])
  const isWide = level === "instance" || level === "org"
  return isWide ? permissions : permissions.map((permission) => `${permission}:${id}`)
}

async function listMyMemberships(cx: Cx, req: ListMyMembershipsRequest) {
  const all = { all: true, orgs: [], projects: [], grants: [] }
  const kinds = { instance: all, org: all, project: all, grant: all }
  const own: Filter = { equals: "user_id", value: requireUserId(cx) }
  const found = await searchAdministrators(
    { ...cx, scope: { ...all, all: false, kinds } },
    { page: parsePage(req.query), filters: [own, ...req.queries.map(filterOf)] },
  )
  return {
    details: {
      totalResult: BigInt(found.total),
      processedSequence: BigInt(cx.store.log.durable()),
      viewTimestamp: toTimestamp(cx.clock.now()),
    },
    result: found.rows.map((row) => toMembership(cx, row)),
  }
}

function filterOf({ query }: MembershipQuery): Filter {
  switch (query.case) {
    case "orgQuery":
      return onTarget("org", query.value.orgId)
    case "projectQuery":
      return onTarget("project", query.value.projectId)
    case "projectGrantQuery":
      return onTarget("grant", query.value.projectGrantId)
    case "iamQuery": {
      const isInstance: Filter = { equals: "level", value: "instance" }
      return query.value.iam ? isInstance : { not: isInstance }
    }
    default:
      throw filterMissingError()
  }
}

const onTarget = (level: Membership["level"], id: string): Filter => ({
  all: [
    { equals: "level", value: level },
    { equals: "target", value: id },
  ],
})

const toMembership = (cx: Cx, row: AdministratorRow) => ({
  userId: row.user_id,
  details: toDetails({ ...row, version: versionOf(cx, row), owner: row.org }),
  roles: [...row.roles],
  displayName: (row.level === "org" ? row.org_name : row.project_name) ?? "",
  type: typeOf(row),
})

/** Roles on the instance are stored with the instance itself. */
const versionOf = (cx: Cx, { level, target, user_id }: AdministratorRow): number =>
  (level === "instance"
    ? cx.store.receipt(cx, instance, cx.instance)
    : cx.store.receipt(cx, member, memberId(level, target, user_id))
  )?.version ?? 0

function typeOf({ level, target }: AdministratorRow) {
  if (level === "instance") return { case: "iam", value: true } as const
  if (level === "org") return { case: "orgId", value: target } as const
  if (level === "project") return { case: "projectId", value: target } as const
  return { case: "projectGrantId", value: target } as const
}
