import { aggregate, type Event } from "../../store/index.ts"

/**
 * Roles as they were granted. A role of the project is valid if it is not newer than
 * `rolesVersion`, the version of the project at that time: a role that was removed and added again
 * is a different role with the same key.
 */
type GrantedRoles = { readonly roleKeys: readonly string[]; readonly rolesVersion: number }

type GrantParties = {
  readonly projectId: string
  /**
   * The organization that receives the grant; the organization that grants the project owns the
   * stream.
   */
  readonly grantedOrgId: string
}

export type ProjectGrantEvent =
  | Event<"project.grant.added", GrantParties & GrantedRoles>
  | Event<"project.grant.changed", GrantedRoles>
  | Event<"project.grant.deactivated">
  | Event<"project.grant.reactivated">
  | Event<"project.grant.removed">

export type ProjectGrantStatus = "active" | "inactive"

export type ProjectGrant = GrantParties & {
  readonly status: "absent" | ProjectGrantStatus | "removed"
  /** The organization that owns the project. */
  readonly orgId: string
  /**
   * The stream version that granted each role, by key: a role that was granted again is a different
   * role.
   */
  readonly roles: Readonly<Record<string, number>>
  /** The stream version that last changed the roles. */
  readonly changedIn: number
  /** The version of the project's roles when they were granted. */
  readonly rolesVersion: number
}

/** Allows another organization to assign roles on a project to its users. */
export const projectGrant = aggregate<ProjectGrantEvent, ProjectGrant>({
  stream: "projectgrant",
  initial: {
    status: "absent",
    orgId: "",
    projectId: "",
    grantedOrgId: "",
    roles: {},
    changedIn: 0,
    rolesVersion: 0,
  },
  evolve: {
    "project.grant.added": (_, { data, owner, version }) => ({
      status: "active",
      orgId: owner,
      projectId: data.projectId,
      grantedOrgId: data.grantedOrgId,
      roles: rolesAfter({}, data.roleKeys, version),
      changedIn: version,
      rolesVersion: data.rolesVersion,
    }),
    "project.grant.changed": (state, { data, version }) => ({
      ...state,
      roles: rolesAfter(state.roles, data.roleKeys, version),
      changedIn: version,
      rolesVersion: data.rolesVersion,
    }),
    "project.grant.deactivated": (state) => ({ ...state, status: "inactive" }),
    "project.grant.reactivated": (state) => ({ ...state, status: "active" }),
    "project.grant.removed": (state) => ({ ...state, status: "removed" }),
  },
})

/** A role that was granted before keeps its version. */
const rolesAfter = (
  previous: ProjectGrant["roles"],
  keys: readonly string[],
  version: number,
): ProjectGrant["roles"] =>
  Object.fromEntries(
    keys.map((key) => [key, (Object.hasOwn(previous, key) && previous[key]) || version]),
  )

export const exists = ({ status }: ProjectGrant): boolean =>
  status === "active" || status === "inactive"

/** Unique for each project and organization. */
export const grantClaim = "project_grant"
export const grantKeyOf = (projectId: string, orgId: string): string =>
  JSON.stringify([projectId, orgId])
