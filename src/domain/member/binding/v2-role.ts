import type { MessageInitShape } from "@bufbuild/protobuf"
import { bindHandlers } from "../../../api/method.ts"
import {
  RoleLevel,
  type RoleSchema,
} from "../../../gen/core/internal_permission/v2/internal_permission_pb.ts"
import {
  InternalPermissionService,
  type ListRolesRequest,
} from "../../../gen/core/internal_permission/v2/internal_permission_service_pb.ts"
import type { Scope } from "../../../kernel/context.ts"
import { Fault } from "../../../kernel/fault.ts"
import { parsePage } from "../../../kernel/page.ts"
import { toPagination, toTimestamp, valueOfEnum } from "../../../protocol/api/response.ts"
import { type Cx, paginate } from "../../../store/index.ts"
import { type CustomRole, customRoles } from "../custom-role.ts"
import { createRole, removeRole, updateRole } from "../custom-role-commands.ts"
import type { Target } from "../model.ts"
import { builtInRoles as builtIn } from "../roles.ts"

/** The roles that can be assigned, and the custom roles of the instance. */
export const v2role = bindHandlers<Cx>()(InternalPermissionService, {
  listRoles: (req, cx) => listRoles(cx, req),
  createRole: async ({ key, displayName, level, permissions }, cx) => {
    const input = { key, displayName, level: levelOf(level), permissions }
    return { creationDate: toTimestamp(await createRole(cx, input)) }
  },
  updateRole: async ({ key, displayName, permissions, confirmedCredentials: confirmed }, cx) => ({
    changeDate: toTimestamp(await updateRole(cx, { key, displayName, permissions, confirmed })),
  }),
  deleteRole: async ({ key }, cx) => {
    const removed = await removeRole(cx, key)
    return removed === undefined ? {} : { deletionDate: toTimestamp(removed) }
  },
})

type ListedRole = Omit<CustomRole, "created" | "changed"> & Partial<CustomRole>

function listRoles(cx: Cx, req: ListRolesRequest) {
  const requestedLevel = req.level === RoleLevel.UNSPECIFIED ? undefined : levelOf(req.level)
  const isShown = ({ level }: ListedRole) =>
    (requestedLevel === undefined || level === requestedLevel) && canMatch(cx.scope?.kinds?.[level])
  const own = Object.values(cx.store.state(cx, customRoles, cx.instance).roles)
  const found = paginate(cx, [...assignableBuiltInRoles, ...own].filter(isShown), {
    page: parsePage(req.pagination),
    requested: ["roles", requestedLevel],
    by: ({ key }) => [key],
  })
  return { pagination: toPagination(found), roles: found.rows.map(toRole) }
}

/** Callers who can read the administrators of any resource of a level can list its roles. */
const canMatch = (scope: Scope | undefined): boolean =>
  scope !== undefined &&
  (scope.all || scope.orgs.length + scope.projects.length + scope.grants.length > 0)

const levels = {
  [RoleLevel.INSTANCE]: "instance",
  [RoleLevel.ORGANIZATION]: "org",
  [RoleLevel.PROJECT]: "project",
  [RoleLevel.PROJECT_GRANT]: "grant",
} as const

const levelNumbers = {
  instance: RoleLevel.INSTANCE,
  org: RoleLevel.ORGANIZATION,
  project: RoleLevel.PROJECT,
  grant: RoleLevel.PROJECT_GRANT,
} as const

function levelOf(level: RoleLevel): Target["level"] {
  if (level !== RoleLevel.UNSPECIFIED) return valueOfEnum(levels, level)
  const message = "level is required: where the role can be assigned"
  throw new Fault("invalid_argument", "role.level_missing", message)
}

/** The built-in roles that can be assigned; system roles are set in the configuration. */
const assignableBuiltInRoles: readonly ListedRole[] = Object.entries(builtIn).flatMap(
  ([key, role]) => {
    const { level } = role
    if (level === "system" || level === "global") return []
    return [{ key, displayName: key, level, permissions: [...role.permissions].sort() }]
  },
)

const toRole = (role: ListedRole): MessageInitShape<typeof RoleSchema> => ({
  key: role.key,
  displayName: role.displayName,
  level: levelNumbers[role.level],
  permissions: [...role.permissions],
  builtIn: role.created === undefined,
  ...(role.created !== undefined && { creationDate: toTimestamp(role.created) }),
  ...(role.changed !== undefined && { changeDate: toTimestamp(role.changed) }),
})
