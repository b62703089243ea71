import { RoleLevel } from "../../../src/gen/core/internal_permission/v2/internal_permission_pb.ts"

/** The levels at which a role can be assigned. */
export const levels = {
  instance: RoleLevel.INSTANCE,
  organization: RoleLevel.ORGANIZATION,
  project: RoleLevel.PROJECT,
  grant: RoleLevel.PROJECT_GRANT,
} as const

export type LevelName = keyof typeof levels

export const levelNames: readonly LevelName[] = ["organization", "project", "grant", "instance"]

export const levelOf = (level: RoleLevel): LevelName =>
  levelNames.find((name) => levels[name] === level) ?? "instance"

export type PermissionGroup = { readonly name: string; readonly permissions: readonly string[] }

/** Groups permissions by resource, which is the prefix of their names. */
export function groupPermissions(permissions: readonly string[]): readonly PermissionGroup[] {
  const families = new Map<string, string[]>()
  for (const permission of [...new Set(permissions)].sort()) {
    const name = permission.split(".")[0] ?? permission
    families.set(name, [...(families.get(name) ?? []), permission])
  }
  return [...families].map(([name, grouped]) => ({ name, permissions: grouped }))
}
