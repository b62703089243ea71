import { aggregate, type Event } from "../../../store/index.ts"
import type { Target } from "../model.ts"

type Roles = { readonly roles: readonly string[] }

type GroupRoleTarget = {
  readonly groupId: string
  /** The organization of the group. */
  readonly groupOrgId: string
  readonly level: Target["level"]
  /** The organization, project or project grant; empty for the instance. */
  readonly targetId: string
  /** The project, or that of the project grant. */
  readonly projectId?: string
}

export type GroupAdministratorEvent =
  | Event<"group.administrator.added", GroupRoleTarget & Roles>
  | Event<"group.administrator.changed", Roles>
  | Event<"group.administrator.removed">

/** The administrator roles of one group on one resource; empty if it has none. */
export type GroupAdministrator = Roles & GroupRoleTarget

const noRoles: GroupAdministrator = {
  groupId: "",
  groupOrgId: "",
  level: "instance",
  targetId: "",
  roles: [],
}

/** Each pair of group and resource has its own stream, including the instance. */
export const groupAdministrator = aggregate<GroupAdministratorEvent, GroupAdministrator>({
  stream: "group_administrator",
  initial: noRoles,
  evolve: {
    "group.administrator.added": (_, { data }) => data,
    "group.administrator.changed": (state, { data }) => ({ ...state, roles: data.roles }),
    "group.administrator.removed": (state) => ({ ...state, roles: [] }),
  },
})

const targetIdOf = (target: Target): string => (target.level === "instance" ? "" : target.id)

export const targetKeyOf = (target: Target) => ({
  level: target.level,
  targetId: targetIdOf(target),
})

export const targetOf = ({
  level,
  targetId: id,
}: Pick<GroupRoleTarget, "level" | "targetId">): Target =>
  level === "instance" ? { level } : { level, id }

/** The stream ID of a group on a resource. IDs can contain any character, so each is encoded. */
export const groupAdministratorId = (target: Target, groupId: string): string =>
  [target.level, targetIdOf(target), groupId].map(encodeURIComponent).join("/")
