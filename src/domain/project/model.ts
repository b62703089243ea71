import { aggregate, type Event, streamPartByKey } from "../../store/index.ts"

/** Whose branding the login pages show, in the order of the API's enum. */
export const privateLabelings = ["unspecified", "project_owner", "login_user"] as const
export type PrivateLabeling = (typeof privateLabelings)[number]

/** The claim with a plain list of the user's role keys, in the order of the API's enum. */
export const groupsClaims = ["unspecified", "off", "groups", "roles"] as const
export type GroupsClaim = Exclude<(typeof groupsClaims)[number], "unspecified">

/** Settings of a project for its applications and users. */
export type ProjectSettings = {
  readonly projectRoleAssertion: boolean
  /** Whether users need an authorization to sign in. */
  readonly projectRoleCheck: boolean
  /** Whether the user's organization must own the project or have a grant of it. */
  readonly hasProjectCheck: boolean
  readonly privateLabelingSetting: PrivateLabeling
  readonly groupsClaim: GroupsClaim
}

export type ProjectFields = ProjectSettings & { readonly name: string }

/** If `groupsClaim` is absent, tokens have no groups claim. */
type AddedProject = Omit<ProjectFields, "groupsClaim"> & Partial<Pick<ProjectFields, "groupsClaim">>

type RoleData = { readonly key: string; readonly displayName: string; readonly group: string }

export type ProjectEvent =
  | Event<"project.added", AddedProject>
  | Event<"project.changed", Partial<ProjectFields>>
  | Event<"project.role.added", RoleData>
  | Event<"project.role.changed", RoleData>
  | Event<"project.role.removed", { readonly key: string }>
  | Event<"project.deactivated">
  | Event<"project.reactivated">
  | Event<"project.removed">

export type ProjectStatus = "active" | "inactive"

export type Project = ProjectFields & {
  readonly status: "absent" | ProjectStatus | "removed"
  /** The organization that owns the project. */
  readonly orgId: string
  /**
   * The stream version that added each role, by key: a role that was added again is a different
   * role.
   */
  readonly roles: Readonly<Record<string, number>>
  /** The version that last added a role; 0 if none did. */
  readonly rolesVersion: number
}

/** A group of applications that share roles and policies. */
export const project = aggregate<ProjectEvent, Project>({
  stream: "project",
  part: streamPartByKey("key"),
  revision: 2,
  initial: {
    status: "absent",
    orgId: "",
    name: "",
    projectRoleAssertion: false,
    projectRoleCheck: false,
    hasProjectCheck: false,
    privateLabelingSetting: "unspecified",
    groupsClaim: "off",
    roles: {},
    rolesVersion: 0,
  },
  evolve: {
    "project.added": (state, { data, owner }) => ({
      ...state,
      ...data,
      status: "active",
      orgId: owner,
    }),
    "project.changed": (state, { data }) => ({ ...state, ...data }),
    "project.role.added": (state, { data, version }) => ({
      ...state,
      roles: { ...state.roles, [data.key]: version },
      rolesVersion: version,
    }),
    "project.role.changed": (state) => state,
    "project.role.removed": (state, { data }) => {
      const { [data.key]: _, ...others } = state.roles
      return { ...state, roles: others }
    },
    "project.deactivated": (state) => ({ ...state, status: "inactive" }),
    "project.reactivated": (state) => ({ ...state, status: "active" }),
    "project.removed": (state) => ({ ...state, status: "removed" }),
  },
})

export const exists = (state: Project): boolean =>
  state.status === "active" || state.status === "inactive"

/** The keys of roles assigned at `rolesVersion` that the project still has. */
export const currentKeys = (
  { roles }: Project,
  assigned: { readonly roleKeys: readonly string[]; readonly rolesVersion: number },
): readonly string[] =>
  assigned.roleKeys.filter(
    (key) => Object.hasOwn(roles, key) && (roles[key] ?? 0) <= assigned.rolesVersion,
  )
