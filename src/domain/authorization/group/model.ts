import { aggregate, type Event } from "../../../store/index.ts"
import type { VersionedRoles } from "../model.ts"

type GroupAuthorizationSubject = {
  readonly groupId: string
  readonly projectId: string
  /** The project grant of the group's organization; empty if the organization owns the project. */
  readonly grantId: string
  /** The organization that owns the project, if it is not the group's organization. */
  readonly projectOrgId?: string
}

export type GroupAuthorizationEvent =
  | Event<"group.grant.added", GroupAuthorizationSubject & VersionedRoles>
  | Event<"group.grant.changed", VersionedRoles>
  | Event<"group.grant.removed">

export type GroupAuthorization = GroupAuthorizationSubject &
  VersionedRoles & {
    readonly status: "absent" | "active" | "removed"
    /** The organization that grants the authorization; it owns the group. */
    readonly orgId: string
  }

/** The roles of one group on one project, which also apply to the users of the group. */
export const groupAuthorization = aggregate<GroupAuthorizationEvent, GroupAuthorization>({
  stream: "group_grant",
  initial: {
    status: "absent",
    orgId: "",
    groupId: "",
    projectId: "",
    grantId: "",
    roleKeys: [],
    rolesVersion: 0,
  },
  evolve: {
    "group.grant.added": (_, { data, owner }) => ({ ...data, status: "active", orgId: owner }),
    "group.grant.changed": (state, { data }) => ({ ...state, ...data }),
    "group.grant.removed": (state) => ({ ...state, status: "removed" }),
  },
})

/** One for each group, project and project grant. */
export const groupAuthorizationClaim = "group_grant"
export const groupAuthorizationKeyOf = ({
  groupId,
  projectId,
  grantId,
}: Pick<GroupAuthorizationSubject, "groupId" | "projectId" | "grantId">): string =>
  JSON.stringify([groupId, projectId, grantId])
