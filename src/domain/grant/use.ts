import type { Found, Page } from "../../kernel/page.ts"
import {
  aggregate,
  type Cx,
  type Event,
  type Searchable,
  search,
  statement,
  type Transaction,
  view,
} from "../../store/index.ts"
import { type AppEvent, app } from "../app/index.ts"
import { instance } from "../instance/index.ts"
import type { ProjectEvent } from "../project/index.ts"
import type { UserEvent } from "../user/index.ts"

const day = 86_400_000

export type UseEvent = Event<
  "application.used",
  { readonly userId: string; readonly appId: string; readonly projectId: string }
>

/** When somebody last used an application, to the day: each pair of both is a stream. */
export const applicationUse = aggregate<UseEvent, { readonly last: number }>({
  stream: "app_use",
  retention: "transient",
  expires: ({ last }) => last + 90 * day,
  initial: { last: 0 },
  evolve: { "application.used": (_, { time }) => ({ last: time }) },
})

/** The stream of a person's use of an application. */
export const pairId = (userId: string, appId: string): string => `${userId}/${appId}`

/**
 * Notes that a person gets a token for an application, at most once a day, where the instance wants
 * to know who got tokens at all; of the console, nobody asks. Part of the step that issues it.
 */
export function noteUse(tx: Transaction, userId: string, appId: string): void {
  const { oidc, projectId: own } = tx.state(instance, tx.instance)
  if (!oidc.tokenAudit.people) return
  const id = pairId(userId, appId)
  if (tx.now < tx.state(applicationUse, id).last + day) return
  const on = tx.state(app, appId)
  if (!("projectId" in on) || on.projectId === own) return
  const data = { userId, appId, projectId: on.projectId }
  tx.append(applicationUse, id, [{ type: "application.used", data }], tx.owner(app, appId))
}

export type UseRow = {
  readonly app: string
  readonly app_name: string
  readonly user_id: string
  readonly last: number
}

const note = statement(
  `INSERT INTO app_uses (instance, id, user_id, app, project, org, last)
   VALUES ($instance, $id, $userId, $appId, $projectId, $owner, $time)
   ON CONFLICT DO UPDATE SET last = excluded.last`,
)
const remove = statement("DELETE FROM app_uses WHERE instance = $instance AND id = $id")
const removeApp = statement("DELETE FROM app_uses WHERE instance = $instance AND app = $id")
const removeProject = statement("DELETE FROM app_uses WHERE instance = $instance AND project = $id")
const removeUser = statement("DELETE FROM app_uses WHERE instance = $instance AND user_id = $id")

export const applicationUseView = view<UseEvent | AppEvent | ProjectEvent | UserEvent>({
  name: "app_use",
  tables: {
    app_uses: {
      columns: `id TEXT NOT NULL, user_id TEXT NOT NULL, app TEXT NOT NULL,
        project TEXT NOT NULL, org TEXT NOT NULL, last INTEGER NOT NULL`,
      key: "id",
      indexes: {
        user: "user_id",
        app: "app, last",
        project: "project, last",
        org: "org, last",
        last: "last",
      },
    },
  },
  on: {
    "application.used": (db, { data }) => db.run(note, data),
    "project.application.removed": (db) => db.run(removeApp),
    "project.removed": (db) => db.run(removeProject),
    "user.removed": (db) => db.run(removeUser),
  },
  dropped: { app_use: (db) => db.run(remove) },
})

const applicationUses: Searchable = {
  table: "app_uses",
  columns: ["user_id", "app", "project", "org", "last"],
  joined: {
    select: "a.name AS app_name",
    from: "JOIN apps a ON a.instance = t.instance AND a.id = t.app",
    columns: [],
  },
  owner: { org: "org", project: "project" },
  key: "id",
  sort: "last",
}

type Wanted = {
  readonly page: Page
  /** Empty texts stand for any. */
  readonly userId: string
  readonly appId: string
  /** ms UTC. */
  readonly since: number
}

/** Who used what since when, of the applications that the caller may see. */
export const searchUses = (
  cx: Cx,
  { page, userId, appId, since }: Wanted,
): Promise<Found<UseRow>> =>
  search<UseRow>(cx, applicationUses, {
    page,
    filters: [
      ...(userId ? [{ equals: "user_id", value: userId }] : []),
      ...(appId ? [{ equals: "app", value: appId }] : []),
      ...(since ? [{ compare: "last", by: ">=", value: since } as const] : []),
    ],
  })
