import {
  type ChangesOf,
  type Cx,
  cacheQueryByKey,
  type DecisionContext,
  type Envelope,
  integer,
  json,
  type RowOf,
  statement,
  table,
  text,
  type ViewWriter,
  view,
} from "../../../store/index.ts"
import { effectiveGroupIds, type GroupEvent } from "../../group/index.ts"
import type { OrgEvent } from "../../org/index.ts"
import type { ProjectEvent } from "../../project/index.ts"
import type { ProjectGrantEvent } from "../../project-grant/index.ts"
import { roleColumnsOf, rolesOfAuthorizationSql } from "../view.ts"
import type { GroupAuthorizationEvent } from "./model.ts"

const groupAuthorizationTable = table(
  "group_authorizations",
  {
    id: text(),
    org: text(),
    project: text(),
    project_org: text(),
    group_id: text(),
    /** Empty if the organization owns the project. */
    grant_id: text(),
    role_keys: json<readonly string[]>(),
    roles_version: integer(),
    grant_version: integer(),
    created: integer(),
    changed: integer(),
  },
  {
    key: ["id"],
    indexes: {
      org: ["org", "created"],
      project_org: ["project_org", "created"],
      project: ["project", "group_id"],
      group: ["group_id", "created"],
      grant: ["grant_id", "created"],
      created: ["created"],
      changed: ["changed"],
    },
  },
)

/** A listed authorization of a group, with joined names. Times are ms UTC. */
export type GroupAuthorizationRow = RowOf<typeof groupAuthorizationTable> & {
  readonly org_name: string
  readonly project_name: string
  readonly group_name: string
}

const updateRow = (
  db: ViewWriter,
  { id, time }: Envelope,
  changes: ChangesOf<typeof groupAuthorizationTable>,
) => groupAuthorizationTable.update(db, { id }, { ...changes, changed: time })

export const groupAuthorizationView = view<
  GroupAuthorizationEvent | GroupEvent | OrgEvent | ProjectEvent | ProjectGrantEvent
>({
  name: "group_authorization",
  tables: [groupAuthorizationTable],
  on: {
    "group.grant.added": (db, { id, owner, data, time }) =>
      groupAuthorizationTable.insert(db, {
        id,
        org: owner,
        project: data.projectId,
        project_org: data.projectOrgId ?? owner,
        group_id: data.groupId,
        grant_id: data.grantId,
        ...roleColumnsOf(data),
        created: time,
        changed: time,
      }),
    "group.grant.changed": (db, event) => updateRow(db, event, roleColumnsOf(event.data)),
    "group.grant.removed": (db, { id }) => groupAuthorizationTable.remove(db, { id }),
    "group.removed": (db, { id }) => groupAuthorizationTable.remove(db, { group_id: id }),
    "org.removed": (db, { id: org }) => groupAuthorizationTable.remove(db, { org }),
    "project.removed": (db, { id: project }) => groupAuthorizationTable.remove(db, { project }),
    "project.grant.removed": (db, { id }) => groupAuthorizationTable.remove(db, { grant_id: id }),
  },
})

export const groupAuthorizations = groupAuthorizationTable.searchable({
  columns: ["org", "project", "group_id", "grant_id", "created", "changed"],
  joined: {
    select: `coalesce(o.name, '') AS org_name, p.name AS project_name,
      p.name_folded AS project_name_folded, g.name AS group_name,
      g.name_folded AS group_name_folded`,
    from: `JOIN groups g ON g.instance = t.instance AND g.id = t.group_id
      JOIN projects p ON p.instance = t.instance AND p.id = t.project
      LEFT JOIN orgs o ON o.instance = t.instance AND o.id = t.org`,
    columns: ["project_name", "project_name_folded", "group_name", "group_name_folded"],
  },
  names: ["project_name", "group_name"],
  owner: { org: "org", otherOrg: "project_org", project: "project", grant: "grant_id" },
  key: "id",
  sort: "created",
})

type GroupAuthorizationKey = { readonly id: string; readonly groupId: string }

const authorizationsOnProject = statement<GroupAuthorizationKey>(
  `SELECT id, group_id AS groupId FROM group_authorizations
   WHERE instance = $instance AND project = $projectId ORDER BY id`,
)

/** The authorizations of groups on a project; every check of a user's roles reads them. */
export const groupAuthorizationsOn = cacheQueryByKey(
  (cx, projectId): readonly GroupAuthorizationKey[] =>
    cx.store.all(cx, authorizationsOnProject, { projectId }),
  groupAuthorizationView,
)

const authorizationsOfGroup = statement<{ id: string; project: string; grantId: string }>(
  `SELECT id, project, grant_id AS grantId FROM group_authorizations
   WHERE instance = $instance AND group_id = $groupId ORDER BY id`,
)

/**
 * The authorizations of a group itself, without those of groups that contain it, as of before the
 * transaction.
 */
export const projectsOfGroupIn = (read: Pick<DecisionContext, "rows">, groupId: string) =>
  read.rows(authorizationsOfGroup, { groupId })

/** The authorizations of all groups that a user is in, directly or through other groups. */
export const groupAuthorizationsOf = (cx: Cx, userId: string) =>
  effectiveGroupIds(cx, userId).flatMap((groupId) =>
    cx.store.all(cx, authorizationsOfGroup, { groupId }),
  )

const rolesOfAuthorization = statement<{ key: string; displayName: string; group: string }>(
  rolesOfAuthorizationSql("group_authorizations"),
)

/** The roles of a group's authorization that are currently effective, with their names. */
export const listGroupRolesOf = (cx: Cx, authorizationId: string) =>
  cx.store.all(cx, rolesOfAuthorization, { authorizationId })
