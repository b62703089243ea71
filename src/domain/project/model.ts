import { aggregate, type Event, partByKey } from "../../store/index.ts"

/** Whose branding the login shows, in the order of the interface's numbers. */
export const labelings = ["unspecified", "project_owner", "login_user"] as const
export type PrivateLabeling = (typeof labelings)[number]

/**
 * The claim that lists the keys of a user's roles, for programs that read a plain list; in the
 * order of the interface's numbers.
 */
export const groupsClaims = ["unspecified", "off", "groups", "roles"] as const
export type GroupsClaim = Exclude<(typeof groupsClaims)[number], "unspecified">

/** What a project asks of its applications and users. */
export type ProjectSettings = {
  readonly projectRoleAssertion: boolean
  /** Users need a grant to sign in. */
  readonly projectRoleCheck: boolean
  /** The organisation of a user must own the project or be granted it. */
  readonly hasProjectCheck: boolean
  readonly privateLabelingSetting: PrivateLabeling
  readonly groupsClaim: GroupsClaim
}

export type ProjectFields = ProjectSettings & { readonly name: string }

/** Without a word there is no claim of groups. */
type Added = Omit<ProjectFields, "groupsClaim"> & Partial<Pick<ProjectFields, "groupsClaim">>

type RoleShown = { readonly key: string; readonly displayName: string; readonly group: string }

export type ProjectEvent =
  | Event<"project.added", Added>
  | Event<"project.changed", Partial<ProjectFields>>
  | Event<"project.role.added", RoleShown>
  | Event<"project.role.changed", RoleShown>
  | Event<"project.role.removed", { readonly key: string }>
  | Event<"project.deactivated">
  | Event<"project.reactivated">
  | Event<"project.removed">

export type ProjectStatus = "active" | "inactive"

export type Project = ProjectFields & {
  readonly status: "absent" | ProjectStatus | "removed"
  /** The organisation that owns it. */
  readonly orgId: string
  /** By key the version of the stream that added the role: one that comes again is another. */
  readonly roles: Readonly<Record<string, number>>
  /** The version that last added a role; 0 before. */
  readonly rolesVersion: number
}

/** The bracket around applications that share roles and policies. */
export const project = aggregate<ProjectEvent, Project>({
  stream: "project",
  part: partByKey("key"),
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

export const isThere = (state: Project): boolean =>
  state.status === "active" || state.status === "inactive"

/** Of roles that were given when the project's were of `rolesVersion`, those that it still has. */
export const keysThere = (
  { roles }: Project,
  given: { readonly roleKeys: readonly string[]; readonly rolesVersion: number },
): readonly string[] =>
  given.roleKeys.filter(
    (key) => Object.hasOwn(roles, key) && (roles[key] ?? 0) <= given.rolesVersion,
  )
