import { aggregate, type Event } from "../../store/index.ts"

/** What somebody can be an administrator of. */
export type Target =
  | { readonly level: "instance" }
  | { readonly level: "org" | "project" | "grant"; readonly id: string }

type Roles = { readonly userId: string; readonly roles: readonly string[] }

export type MemberEvent =
  | Event<"org.member.added", Roles & { readonly orgId: string }>
  | Event<"org.member.changed", Roles>
  | Event<"org.member.removed", { readonly userId: string }>
  | Event<"project.member.added", Roles & { readonly projectId: string }>
  | Event<"project.member.changed", Roles>
  | Event<"project.member.removed", { readonly userId: string }>
  | Event<
      "project.grant.member.added",
      Roles & { readonly projectId: string; readonly grantId: string }
    >
  | Event<"project.grant.member.changed", Roles>
  | Event<"project.grant.member.removed", { readonly userId: string }>

/** The roles of one user on one thing; none where they are no administrator of it. */
export type Member = { readonly roles: readonly string[] }

const nobody: Member = { roles: [] }

const given = (_: Member, { data }: { readonly data: Roles }): Member => ({ roles: data.roles })
const taken = (): Member => nobody

/** One stream for each user on each organisation, project or grant; the instance keeps its own. */
export const member = aggregate<MemberEvent, Member>({
  stream: "member",
  initial: nobody,
  evolve: {
    "org.member.added": given,
    "org.member.changed": given,
    "org.member.removed": taken,
    "project.member.added": given,
    "project.member.changed": given,
    "project.member.removed": taken,
    "project.grant.member.added": given,
    "project.grant.member.changed": given,
    "project.grant.member.removed": taken,
  },
})

/** The stream of a user on a thing. Ids may hold any character, so each is encoded. */
export const memberId = (
  level: Exclude<Target["level"], "instance">,
  id: string,
  userId: string,
): string => `${level}/${encodeURIComponent(id)}/${encodeURIComponent(userId)}`
