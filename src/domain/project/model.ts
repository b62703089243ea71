import { aggregate, type Event } from "../../store/index.ts"

/** Whose branding the login shows, in the order of the interface's numbers. */
export const labelings = ["unspecified", "project_owner", "login_user"] as const
export type PrivateLabeling = (typeof labelings)[number]

/** What a project asks of its applications and users. */
export type ProjectSettings = {
  readonly projectRoleAssertion: boolean
  /** Users need a grant to sign in. */
  readonly projectRoleCheck: boolean
  /** The organisation of a user must own the project or be granted it. */
  readonly hasProjectCheck: boolean
  readonly privateLabelingSetting: PrivateLabeling
}

export type ProjectFields = ProjectSettings & { readonly name: string }

export type ProjectEvent =
  | Event<"project.added", ProjectFields>
  | Event<"project.changed", Partial<ProjectFields>>
  | Event<"project.deactivated">
  | Event<"project.reactivated">
  | Event<"project.removed">

export type ProjectStatus = "active" | "inactive"

export type Project = ProjectFields & {
  readonly status: "absent" | ProjectStatus | "removed"
  /** The organisation that owns it. */
  readonly orgId: string
}

/** The bracket around applications that share roles and policies. */
export const project = aggregate<ProjectEvent, Project>({
  stream: "project",
  initial: {
    status: "absent",
    orgId: "",
    name: "",
    projectRoleAssertion: false,
    projectRoleCheck: false,
    hasProjectCheck: false,
    privateLabelingSetting: "unspecified",
  },
  evolve: {
    "project.added": (_, { data, owner }) => ({ ...data, status: "active", orgId: owner }),
    "project.changed": (state, { data }) => ({ ...state, ...data }),
    "project.deactivated": (state) => ({ ...state, status: "inactive" }),
    "project.reactivated": (state) => ({ ...state, status: "active" }),
    "project.removed": (state) => ({ ...state, status: "removed" }),
  },
})

export const isThere = (state: Project): boolean =>
  state.status === "active" || state.status === "inactive"
