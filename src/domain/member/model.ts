import { aggregate, type Event } from "../../store/index.ts"

/** A resource that can have administrators. */
export type Target =
  | { readonly level: "instance" }
  | { readonly level: "org" | "project" | "grant"; readonly id: string }

type MemberRoles = { readonly userId: string; readonly roles: readonly string[] }

export type MemberEvent =
  | Event<"org.member.added", MemberRoles & { readonly orgId: string }>
  | Event<"org.member.changed", MemberRoles>
  | Event<"org.member.removed", { readonly userId: string }>
  | Event<"project.member.added", MemberRoles & { readonly projectId: string }>
  | Event<"project.member.changed", MemberRoles>
  | Event<"project.member.removed", { readonly userId: string }>
  | Event<
      "project.grant.member.added",
      MemberRoles & { readonly projectId: string; readonly grantId: string }
    >
  | Event<"project.grant.member.changed", MemberRoles>
  | Event<"project.grant.member.removed", { readonly userId: string }>

/** The roles of one user on one resource; empty if the user is not an administrator of it. */
export type Member = { readonly roles: readonly string[] }

const noMember: Member = { roles: [] }

const withRoles = (_: Member, { data }: { readonly data: MemberRoles }): Member => ({
  roles: data.roles,
})
const withoutRoles = (): Member => noMember

/**
 * One stream for each user on each organization, project or project grant; the instance stores its
 * own.
 */
export const member = aggregate<MemberEvent, Member>({
  stream: "member",
  initial: noMember,
  evolve: {
    "org.member.added": withRoles,
    "org.member.changed": withRoles,
    "org.member.removed": withoutRoles,
    "project.member.added": withRoles,
    "project.member.changed": withRoles,
    "project.member.removed": withoutRoles,
    "project.grant.member.added": withRoles,
    "project.grant.member.changed": withRoles,
    "project.grant.member.removed": withoutRoles,
  },
})

/** The stream ID of a user on a resource. IDs can contain any character, so each is encoded. */
export const memberId = (
  level: Exclude<Target["level"], "instance">,
  id: string,
  userId: string,
): string => `${level}/${encodeURIComponent(id)}/${encodeURIComponent(userId)}`
