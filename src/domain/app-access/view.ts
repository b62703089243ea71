import { type Cx, integer, type RowOf, table, text, view } from "../../store/index.ts"
import type { AppEvent } from "../app/index.ts"
import type { GroupEvent } from "../group/index.ts"
import type { OrgEvent } from "../org/index.ts"
import type { ProjectEvent } from "../project/index.ts"
import type { UserEvent } from "../user-model/index.ts"
import type { AppAssignmentEvent } from "./model.ts"

const assignmentTable = table(
  "app_assignments",
  {
    id: text(),
    app: text(),
    project: text(),
    org: text(),
    /** Empty for a group. */
    user_id: text(),
    /** Empty for a user. */
    group_id: text(),
    created: integer(),
  },
  {
    key: ["id"],
    indexes: {
      app: ["app", "created"],
      user: ["user_id"],
      group: ["group_id"],
      project: ["project", "created"],
      org: ["org", "created"],
      created: ["created"],
    },
  },
)

/** A listed assignment; `created` is ms UTC. */
export type AssignmentRow = RowOf<typeof assignmentTable> & {
  readonly display_name: string
  readonly user_name: string
  readonly user_org: string
  readonly group_name: string
}

export const assignmentView = view<
  AppAssignmentEvent | AppEvent | ProjectEvent | GroupEvent | UserEvent | OrgEvent
>({
  name: "app_assignment",
  tables: [assignmentTable],
  on: {
    "project.application.assignment.added": (db, { id, owner, data, time }) => {
      const { appId, projectId: project, userId = "", groupId = "" } = data
      const subject = { user_id: userId, group_id: groupId }
      assignmentTable.insert(db, { id, app: appId, project, org: owner, ...subject, created: time })
    },
    "project.application.assignment.removed": (db, { id }) => assignmentTable.remove(db, { id }),
    "project.application.removed": (db, { id }) => assignmentTable.remove(db, { app: id }),
    "project.removed": (db, { id }) => assignmentTable.remove(db, { project: id }),
    "group.removed": (db, { id }) => assignmentTable.remove(db, { group_id: id }),
    "user.removed": (db, { id }) => assignmentTable.remove(db, { user_id: id }),
    "org.removed": (db, { id }) => assignmentTable.remove(db, { org: id }),
  },
})

export const assignments = assignmentTable.searchable({
  columns: ["app", "project", "org", "user_id", "group_id", "created"],
  joined: {
    select: `coalesce(u.display_name, '') AS display_name, coalesce(u.user_name, '') AS user_name,
      coalesce(u.org, '') AS user_org, coalesce(g.name, '') AS group_name`,
    from: `LEFT JOIN users u ON u.instance = t.instance AND u.id = t.user_id
      LEFT JOIN groups g ON g.instance = t.instance AND g.id = t.group_id`,
    columns: [],
  },
  owner: { org: "org", project: "project" },
  key: "id",
  sort: "created",
})

const subjectsOfApp = assignmentTable.select(
  ["user_id", "group_id"],
  "AND app = $appId ORDER BY created",
)

export type Assignments = {
  readonly userIds: readonly string[]
  readonly groupIds: readonly string[]
}

/** The users and groups that are assigned to an application, earliest first. */
export function assignmentsOf(cx: Cx, appId: string): Assignments {
  const rows = cx.store.all(cx, subjectsOfApp, { appId })
  return {
    userIds: rows.flatMap(({ user_id: id }) => (id === "" ? [] : [id])),
    groupIds: rows.flatMap(({ group_id: id }) => (id === "" ? [] : [id])),
  }
}
