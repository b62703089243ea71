import type { MessageInitShape } from "@bufbuild/protobuf"
import { share } from "../../../api/method.ts"
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
import { pageOf } from "../../../kernel/page.ts"
import { at, meaning, pagination } from "../../../protocol/api/answer.ts"
import { type Cx, windowOf } from "../../../store/index.ts"
import { type CustomRole, customRoles } from "../custom-role.ts"
import { changeRole, createRole, removeRole } from "../custom-role-commands.ts"
import type { Target } from "../model.ts"
import { roles as builtIn } from "../roles.ts"

/** The roles that can be given, and those that an instance makes for itself. */
export const v2role = share<Cx>()(InternalPermissionService, {
  listRoles: (req, cx) => list(cx, req),
  createRole: async ({ key, displayName, level, permissions }, cx) => {
    const input = { key, displayName, level: levelOf(level), permissions }
    return { creationDate: at(await createRole(cx, input)) }
  },
  updateRole: async ({ key, displayName, permissions, confirmedCredentials: confirmed }, cx) => ({
    changeDate: at(await changeRole(cx, { key, displayName, permissions, confirmed })),
  }),
  deleteRole: async ({ key }, cx) => {
    const removed = await removeRole(cx, key)
    return removed === undefined ? {} : { deletionDate: at(removed) }
  },
})

type Listed = Omit<CustomRole, "created" | "changed"> & Partial<CustomRole>

function list(cx: Cx, req: ListRolesRequest) {
  const wanted = req.level === RoleLevel.UNSPECIFIED ? undefined : levelOf(req.level)
  const isShown = ({ level }: Listed) =>
    (wanted === undefined || level === wanted) && mayMatch(cx.scope?.kinds?.[level])
  const own = Object.values(cx.store.state(cx, customRoles, cx.instance).roles)
  const found = windowOf(cx, [...standing, ...own].filter(isShown), {
    page: pageOf(req.pagination),
    requested: ["roles", wanted],
    by: ({ key }) => [key],
  })
  return { pagination: pagination(found), roles: found.rows.map(toRole) }
}

/** Who may look at the administrators of a level, wherever, may know what they can be. */
const mayMatch = (scope: Scope | undefined): boolean =>
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
  if (level !== RoleLevel.UNSPECIFIED) return meaning(levels, level)
  const message = "say with level on what the role can be held"
  throw new Fault("invalid_argument", "role.level_missing", message)
}

/** The built-in roles that can be given: those of systems are the configuration's. */
const standing: readonly Listed[] = Object.entries(builtIn).flatMap(([key, role]) => {
  const { level } = role
  if (level === "system" || level === "global") return []
  return [{ key, displayName: key, level, permissions: [...role.permissions].sort() }]
})

const toRole = (role: Listed): MessageInitShape<typeof RoleSchema> => ({
  key: role.key,
  displayName: role.displayName,
  level: levelNumbers[role.level],
  permissions: [...role.permissions],
  builtIn: role.created === undefined,
  ...(role.created !== undefined && { creationDate: at(role.created) }),
  ...(role.changed !== undefined && { changeDate: at(role.changed) }),
})
