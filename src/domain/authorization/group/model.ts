import { aggregate, type Event } from "../../../store/index.ts"
import type { VersionedRoles } from "../model.ts"

type Between = {
  readonly groupId: string
  readonly projectId: string
  /** The grant of the project to the group's organization; empty where that one owns it. */
  readonly grantId: string
  /** The organization that owns the project, where the group is of another one. */
  readonly projectOrgId?: string
}

export type GroupAuthorizationEvent =
  | Event<"group.grant.added", Between & VersionedRoles>
  | Event<"group.grant.changed", VersionedRoles>
  | Event<"group.grant.removed">

export type GroupAuthorization = Between &
  VersionedRoles & {
    readonly status: "absent" | "active" | "removed"
    /** The organization that gives it, which owns the group. */
    readonly orgId: string
  }

/** The roles of one group on one project; its users have them, too. */
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

/** One for each group, project and way that the project came to the group's organization. */
export const groupPairClaim = "group_grant"
export const groupPairOf = ({
  groupId,
  projectId,
  grantId,
}: Pick<Between, "groupId" | "projectId" | "grantId">): string =>
  JSON.stringify([groupId, projectId, grantId])
