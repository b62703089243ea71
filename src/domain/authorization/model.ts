import { aggregate, type Event } from "../../store/index.ts"

/**
 * Roles with the version of the project's roles when they were assigned. A role that was removed
 * from the project and added again has a later version: it is another role with the same key.
 */
export type VersionedRoles = {
  readonly roleKeys: readonly string[]
  readonly rolesVersion: number
  /** The same for the roles of the grant, where there is one. */
  readonly grantVersion?: number
}

type Between = {
  readonly userId: string
  readonly projectId: string
  /** The grant of the project to the organisation that gives it; empty where that one owns it. */
  readonly grantId: string
  /** The organisation that owns the project, where another one gives it. */
  readonly projectOrgId?: string
}

export type AuthorizationEvent =
  | Event<"user.grant.added", Between & VersionedRoles>
  | Event<"user.grant.changed", VersionedRoles>
  | Event<"user.grant.deactivated">
  | Event<"user.grant.reactivated">
  | Event<"user.grant.removed">

export type AuthorizationStatus = "active" | "inactive"

export type Authorization = Between &
  VersionedRoles & {
    readonly status: "absent" | AuthorizationStatus | "removed"
    /** The organisation that gives it. */
    readonly orgId: string
  }

/** What one user may do on one project: their roles there. */
export const authorization = aggregate<AuthorizationEvent, Authorization>({
  stream: "usergrant",
  initial: {
    status: "absent",
    orgId: "",
    userId: "",
    projectId: "",
    grantId: "",
    roleKeys: [],
    rolesVersion: 0,
  },
  evolve: {
    "user.grant.added": (_, { data, owner }) => ({ ...data, status: "active", orgId: owner }),
    "user.grant.changed": (state, { data }) => ({ ...state, ...data }),
    "user.grant.deactivated": (state) => ({ ...state, status: "inactive" }),
    "user.grant.reactivated": (state) => ({ ...state, status: "active" }),
    "user.grant.removed": (state) => ({ ...state, status: "removed" }),
  },
})

export const isThere = ({ status }: Authorization): boolean =>
  status === "active" || status === "inactive"

/** One for each user, project and way that the project came to the organisation that gives it. */
export const pairClaim = "user_grant"
export const pairOf = ({
  userId,
  projectId,
  grantId,
}: Pick<Between, "userId" | "projectId" | "grantId">): string =>
  JSON.stringify([userId, projectId, grantId])
