import { aggregate, type Event } from "../../store/index.ts"

/**
 * Roles, with the version of the project's roles when they were assigned. A role that was removed
 * from the project and added again has a later version: it is a different role with the same key.
 */
export type VersionedRoles = {
  readonly roleKeys: readonly string[]
  readonly rolesVersion: number
  /** The same for the roles of the project grant, if there is one. */
  readonly grantVersion?: number
}

type AuthorizationSubject = {
  readonly userId: string
  readonly projectId: string
  /**
   * The project grant to the organization that authorizes the user; empty if that organization owns
   * the project.
   */
  readonly grantId: string
  /** The organization that owns the project, if another one authorizes the user. */
  readonly projectOrgId?: string
}

export type AuthorizationEvent =
  | Event<"user.grant.added", AuthorizationSubject & VersionedRoles>
  | Event<"user.grant.changed", VersionedRoles>
  | Event<"user.grant.deactivated">
  | Event<"user.grant.reactivated">
  | Event<"user.grant.removed">

export type AuthorizationStatus = "active" | "inactive"

export type Authorization = AuthorizationSubject &
  VersionedRoles & {
    readonly status: "absent" | AuthorizationStatus | "removed"
    /** The organization that grants the authorization. */
    readonly orgId: string
  }

/** The roles of one user on one project. */
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

export const exists = ({ status }: Authorization): boolean =>
  status === "active" || status === "inactive"

/** Unique for each user, project and project grant. */
export const authorizationClaim = "user_grant"
export const authorizationKeyOf = ({
  userId,
  projectId,
  grantId,
}: Pick<AuthorizationSubject, "userId" | "projectId" | "grantId">): string =>
  JSON.stringify([userId, projectId, grantId])
