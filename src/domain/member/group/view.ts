import {
  type Cx,
  cacheQueryByKey,
  codec,
  type DecisionContext,
  integer,
  type RowOf,
  statement,
  table,
  text,
  view,
} from "../../../store/index.ts"
import type { GroupEvent } from "../../group/index.ts"
import type { OrgEvent } from "../../org/index.ts"
import type { ProjectEvent } from "../../project/index.ts"
import type { ProjectGrantEvent } from "../../project-grant/index.ts"
import type { Target } from "../model.ts"
import { formatRoles, parseRoles } from "../roles-text.ts"
import type { GroupAdministratorEvent } from "./model.ts"

export const groupAdministratorTable = table(
  "group_administrators",
  {
    id: text(),
    level: text<Target["level"]>(),
    /** Empty for the instance. */
    target: text(),
    /** The project, or that of the project grant; empty for other levels. */
    project: text(),
    group_id: text(),
    /** The organization of the group. */
    group_org: text(),
    /** The organization that the resource is or belongs to; empty for the instance. */
    org: text(),
    roles: codec(formatRoles, parseRoles),
    created: integer(),
    changed: integer(),
  },
  {
    key: ["id"],
    indexes: {
      group: ["group_id"],
      target: ["level", "target"],
      project: ["project"],
      org: ["org", "created"],
      group_org: ["group_org", "created"],
      created: ["created"],
    },
  },
)

/**
 * A listed administrator role of a group, with the names of the group and the resource. Times are
 * ms UTC.
 */
export type GroupAdministratorRow = RowOf<typeof groupAdministratorTable> & {
  readonly group_name: string
  readonly org_name: string | null
  readonly project_name: string | null
  readonly project_org: string | null
}

/** Administrator roles of groups on every level. */
export const groupAdministratorView = view<
  GroupAdministratorEvent | GroupEvent | OrgEvent | ProjectEvent | ProjectGrantEvent
>({
  name: "group_administrator",
  tables: [groupAdministratorTable],
  on: {
    "group.administrator.added": (db, { id, owner, time, data }) =>
      groupAdministratorTable.insert(db, {
        id,
        level: data.level,
        target: data.targetId,
        project: data.projectId ?? "",
        group_id: data.groupId,
        group_org: data.groupOrgId,
        org: owner,
        roles: data.roles,
        created: time,
        changed: time,
      }),
    "group.administrator.changed": (db, { id, data: { roles }, time }) =>
      groupAdministratorTable.update(db, { id }, { roles, changed: time }),
    "group.administrator.removed": (db, { id }) => groupAdministratorTable.remove(db, { id }),
    "group.removed": (db, { id }) => groupAdministratorTable.remove(db, { group_id: id }),
    "org.removed": (db, { id }) => {
      groupAdministratorTable.remove(db, { level: "org", target: id })
      groupAdministratorTable.remove(db, { group_org: id })
    },
    "project.removed": (db, { id: project }) => groupAdministratorTable.remove(db, { project }),
    "project.grant.removed": (db, { id }) =>
      groupAdministratorTable.remove(db, { level: "grant", target: id }),
  },
})

/** The administrator roles of a group on one resource. */
export type GroupRoles = Pick<GroupAdministratorRow, "level" | "target" | "roles"> & {
  readonly id: string
  readonly groupId: string
}

const allGroupRoles = groupAdministratorTable.select(
  ["id", "level", "target", "group_id", "roles"],
  "",
)

/** The administrator roles of all groups of an instance, by group; every API call reads them. */
export const rolesByGroup = cacheQueryByKey((cx): ReadonlyMap<string, readonly GroupRoles[]> => {
  const found = new Map<string, GroupRoles[]>()
  for (const { group_id: groupId, ...row } of cx.store.all(cx, allGroupRoles)) {
    const present = found.get(groupId)
    if (present) present.push({ ...row, groupId })
    else found.set(groupId, [{ ...row, groupId }])
  }
  return found
}, groupAdministratorView)

type GroupRoleKey = { readonly id: string; readonly groupId: string }

const rolesOnTarget = statement<GroupRoleKey>(
  `SELECT id, group_id AS groupId FROM group_administrators
   WHERE instance = $instance AND level = $level AND target = $target`,
)

/** The groups that have roles on a resource, as of before the transaction. */
export const groupsOnTarget = (
  read: Pick<DecisionContext, "rows">,
  { level, targetId: target }: { readonly level: Target["level"]; readonly targetId: string },
): readonly GroupRoleKey[] => read.rows(rolesOnTarget, { level, target })

const rolesOfGroup = statement<{ id: string }>(
  "SELECT id FROM group_administrators WHERE instance = $instance AND group_id = $groupId",
)

/** The resources on which a group itself has roles, as of before the transaction. */
export const rolesOfGroupIn = (
  read: Pick<DecisionContext, "rows">,
  groupId: string,
): readonly { readonly id: string }[] => read.rows(rolesOfGroup, { groupId })

const changedById = groupAdministratorTable.select(["changed"], "AND id = $id")

/** When the roles of a group on a resource last changed, ms UTC; undefined if it has none. */
export const groupAdministratorChangedAt = (cx: Cx, id: string): number | undefined =>
  cx.store.get(cx, changedById, { id })?.changed

const distinctRoles = statement<{ level: Target["level"]; text: string }>(
  "SELECT DISTINCT level, roles AS text FROM group_administrators WHERE instance = $instance",
)

/** All combinations of roles that groups have on any resource, each once. */
export const rolesOfAllGroups = (cx: Cx) =>
  cx.store.all(cx, distinctRoles).map(({ level, text }) => ({ level, roles: parseRoles(text) }))

const rolesInOrg = statement<{ level: Target["level"]; id: string; text: string }>(
  `SELECT DISTINCT level, target AS id, roles AS text FROM group_administrators
   WHERE instance = $instance AND group_org = $orgId`,
)

/** The roles of an organization's groups; all are on the instance or within the organization. */
export const rolesOfOrgGroups = (cx: Cx, orgId: string) =>
  cx.store
    .all(cx, rolesInOrg, { orgId })
    .map(({ level, id, text }) => ({ level, id, roles: parseRoles(text) }))

const targetsWithRole = statement<{
  groupId: string
  level: Target["level"]
  target: string
  text: string
}>(
  `SELECT group_id AS groupId, level, target, roles AS text FROM group_administrators
   WHERE instance = $instance AND instr(roles, $role) > 0 ORDER BY id`,
)

/** The groups that have a role, and the resources on which they have it. */
export const groupsWithRole = (cx: Cx, key: string) =>
  cx.store
    .all(cx, targetsWithRole, { role: formatRoles([key]) })
    .map(({ groupId, level, target: targetId }) => ({ groupId, level, targetId }))
