import { aggregate, type Event } from "../../../store/index.ts"
import type { Target } from "../model.ts"

type Roles = { readonly roles: readonly string[] }

type GroupRoleTarget = {
  readonly groupId: string
  /** The organization of the group. */
  readonly groupOrgId: string
  readonly level: Target["level"]
  /** The organization, project or grant; empty for the instance. */
  readonly targetId: string
  /** The project, or that of the grant. */
  readonly projectId?: string
}

export type GroupAdministratorEvent =
  | Event<"group.administrator.added", GroupRoleTarget & Roles>
  | Event<"group.administrator.changed", Roles>
  | Event<"group.administrator.removed">

/** The roles of one group on one thing; none where it has none there. */
export type GroupAdministrator = Roles & GroupRoleTarget

const nothing: GroupAdministrator = {
  groupId: "",
  groupOrgId: "",
  level: "instance",
  targetId: "",
  roles: [],
}

/** One stream for each group on each thing, also on the instance. */
export const groupAdministrator = aggregate<GroupAdministratorEvent, GroupAdministrator>({
  stream: "group_administrator",
  initial: nothing,
  evolve: {
    "group.administrator.added": (_, { data }) => data,
    "group.administrator.changed": (state, { data }) => ({ ...state, roles: data.roles }),
    "group.administrator.removed": (state) => ({ ...state, roles: [] }),
  },
})

const targetIdOf = (target: Target): string => (target.level === "instance" ? "" : target.id)

export const placeOf = (target: Target) => ({ level: target.level, targetId: targetIdOf(target) })

export const targetOf = ({
  level,
  targetId: id,
}: Pick<GroupRoleTarget, "level" | "targetId">): Target =>
  level === "instance" ? { level } : { level, id }

/** The stream of a group on a thing. IDs can contain any character, so each is encoded. */
export const groupAdministratorId = (target: Target, groupId: string): string =>
  [target.level, targetIdOf(target), groupId].map(encodeURIComponent).join("/")
