import { aggregate, type Event } from "../../store/index.ts"

/**
 * Roles as they were granted. A role of the project counts while it is no younger than
 * `rolesVersion`, which is the project's at that moment: one that was removed and added again is
 * another role under the same key.
 */
type Given = { readonly roleKeys: readonly string[]; readonly rolesVersion: number }

type Between = {
  readonly projectId: string
  /** The organisation that has it; the one that gives it owns the stream. */
  readonly grantedOrgId: string
}

export type ProjectGrantEvent =
  | Event<"project.grant.added", Between & Given>
  | Event<"project.grant.changed", Given>
  | Event<"project.grant.deactivated">
  | Event<"project.grant.reactivated">
  | Event<"project.grant.removed">

export type ProjectGrantStatus = "active" | "inactive"

export type ProjectGrant = Between & {
  readonly status: "absent" | ProjectGrantStatus | "removed"
  /** The organisation that owns the project. */
  readonly orgId: string
  /** By key the version of the stream that granted the role: one that comes again is another. */
  readonly roles: Readonly<Record<string, number>>
  /** The version of the stream that last changed the roles. */
  readonly changedIn: number
  /** The version of the project's roles that they are of. */
  readonly rolesVersion: number
}

/** That users of another organisation may be given roles on a project. */
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

/** A role that was granted before stays the one that it was. */
const rolesAfter = (
  before: ProjectGrant["roles"],
  keys: readonly string[],
  version: number,
): ProjectGrant["roles"] =>
  Object.fromEntries(
    keys.map((key) => [key, (Object.hasOwn(before, key) && before[key]) || version]),
  )

export const isThere = ({ status }: ProjectGrant): boolean =>
  status === "active" || status === "inactive"

/** One for each project and organisation. */
export const grantClaim = "project_grant"
export const pairOf = (projectId: string, orgId: string): string =>
  JSON.stringify([projectId, orgId])
