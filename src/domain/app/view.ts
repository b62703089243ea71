import { Fault } from "../../kernel/fault.ts"
import {
  type ChangesOf,
  type Cx,
  type Envelope,
  foldName,
  integer,
  type RowOf,
  statement,
  table,
  text,
  type ViewWriter,
  view,
} from "../../store/index.ts"
import type { ProjectEvent } from "../project/index.ts"
import {
  type ApiApp,
  type App,
  type AppEvent,
  type AppStatus,
  isClient,
  isMissing,
  type OidcApp,
} from "./model.ts"

const appTable = table(
  "apps",
  {
    id: text(),
    org: text(),
    project: text(),
    name: text(),
    name_folded: text(),
    state: text<AppStatus>(),
    /** Empty until it is configured. */
    kind: text<"oidc" | "api" | "saml" | "">(),
    client_id: text(),
    entity_id: text(),
    /**
     * The last sign-in to an application that registered itself, rounded to the day; 0 for others.
     */
    used: integer(),
    created: integer(),
    changed: integer(),
  },
  {
    key: ["id"],
    indexes: {
      org: ["org", "created"],
      project: ["project", "created"],
      name: ["name_folded"],
      client: ["client_id"],
      entity: ["entity_id"],
      used: ["used"],
      created: ["created"],
    },
  },
)

/**
 * The searchable columns of an application; everything else is read from its state. Times are ms
 * UTC.
 */
export type AppRow = RowOf<typeof appTable>

const keyTable = table(
  "app_keys",
  {
    id: text(),
    app: text(),
    project: text(),
    org: text(),
    public_key: text(),
    expires: integer(),
    created: integer(),
    version: integer(),
  },
  { key: ["app", "id"], indexes: { id: ["id"], project: ["project"] } },
)

/** A key of an application as listed; times are ms UTC. */
export type AppKeyRow = RowOf<typeof keyTable>

const updateApp = (db: ViewWriter, { id, time }: Envelope, changes: ChangesOf<typeof appTable>) =>
  appTable.update(db, { id }, { ...changes, changed: time })

const touchApp = (db: ViewWriter, event: Envelope) => updateApp(db, event, {})

const updateLastUse = statement(
  `UPDATE apps SET used = max($time, created + 1) WHERE instance = $instance AND id = $id`,
)

const projectOfApp = appTable.select(["project"], "AND id = $id")

type KeyData = { readonly keyId: string; readonly publicKey: string; readonly expires: number }

function keyAdded(db: ViewWriter, event: Envelope & { readonly data: KeyData }): void {
  const { id, owner, data, time, version } = event
  const app = db.get(projectOfApp)
  if (app) {
    keyTable.insert(db, {
      id: data.keyId,
      app: id,
      project: app.project,
      org: owner,
      public_key: data.publicKey,
      expires: data.expires,
      created: time,
      version,
    })
  }
  touchApp(db, event)
}

function keyRemoved(
  db: ViewWriter,
  event: Envelope & { readonly data: Pick<KeyData, "keyId"> },
): void {
  keyTable.remove(db, { app: event.id, id: event.data.keyId })
  touchApp(db, event)
}

export const appView = view<AppEvent | ProjectEvent>({
  name: "app",
  revision: 3,
  tables: [appTable, keyTable],
  on: {
    "project.application.added": (db, { id, owner, data: { projectId, name }, time }) =>
      appTable.insert(db, {
        id,
        org: owner,
        project: projectId,
        name,
        name_folded: foldName(name),
        state: "active",
        kind: "",
        client_id: "",
        entity_id: "",
        used: 0,
        created: time,
        changed: time,
      }),
    "project.application.changed": (db, event) =>
      updateApp(db, event, { name: event.data.name, name_folded: foldName(event.data.name) }),
    "project.application.access.changed": touchApp,
    "project.application.deactivated": (db, event) => updateApp(db, event, { state: "inactive" }),
    "project.application.reactivated": (db, event) => updateApp(db, event, { state: "active" }),
    "project.application.removed": (db, { id }) => {
      appTable.remove(db, { id })
      keyTable.remove(db, { app: id })
    },
    "project.application.registered": (db, { id, time }) =>
      appTable.update(db, { id }, { used: time }),
    "project.application.registration.changed": touchApp,
    "project.application.used": (db) => db.run(updateLastUse),
    "project.application.config.oidc.added": (db, event) =>
      updateApp(db, event, { kind: "oidc", client_id: event.data.clientId }),
    "project.application.config.oidc.changed": touchApp,
    "project.application.config.oidc.secret.changed": touchApp,
    "project.application.config.oidc.secret.removed": touchApp,
    "project.application.oidc.key.added": keyAdded,
    "project.application.oidc.key.removed": keyRemoved,
    "project.application.config.api.added": (db, event) =>
      updateApp(db, event, { kind: "api", client_id: event.data.clientId }),
    "project.application.config.api.changed": touchApp,
    "project.application.config.api.secret.changed": touchApp,
    "project.application.config.api.secret.removed": touchApp,
    "project.application.api.key.added": keyAdded,
    "project.application.api.key.removed": keyRemoved,
    "project.application.config.saml.added": (db, event) =>
      updateApp(db, event, { kind: "saml", entity_id: event.data.entityId }),
    "project.application.config.saml.changed": (db, event) =>
      updateApp(db, event, { kind: "saml", entity_id: event.data.entityId }),
    "project.removed": (db, { id: project }) => {
      appTable.remove(db, { project })
      keyTable.remove(db, { project })
    },
  },
})

export const apps = appTable.searchable({
  columns: [
    "org",
    "project",
    "name",
    "name_folded",
    "state",
    "kind",
    "client_id",
    "entity_id",
    "created",
    "changed",
  ],
  names: ["name"],
  owner: { org: "org", project: "project" },
  key: "id",
  sort: "created",
})

export const appKeys = keyTable.searchable({
  columns: ["app", "project", "org", "expires", "created"],
  owner: { org: "org", project: "project" },
  key: "id",
  sort: "created",
})

export const keyNotFoundError = (): Fault =>
  new Fault("not_found", "app_key.missing", "key not found")

const appById = appTable.select("*", "AND id = $appId")

/** The row of an application. Throws if it does not exist. */
export function getApp(cx: Cx, id: string): AppRow {
  const row = cx.store.get(cx, appById, { appId: id })
  if (!row) throw appNotFoundError()
  return row
}

export const appNotFoundError = (): Fault =>
  new Fault("not_found", "app.missing", "application not found")

/** Rejects an application that does not exist or is removed. */
export function requireExists(
  state: App,
): asserts state is Exclude<App, { status: "absent" | "removed" }> {
  if (isMissing(state)) throw appNotFoundError()
}

/** Rejects an application without secrets and keys. */
export function requireClient(state: App): asserts state is OidcApp | ApiApp {
  if (isClient(state)) return
  throw new Fault(
    "failed_precondition",
    "app.no_client",
    "SAML applications have no secrets or keys; their metadata contains their certificates",
  )
}

const appsOfProject = appTable.select(
  ["id"],
  "AND project = $projectId ORDER BY created LIMIT $limit",
)

/** IDs of the oldest applications of a project. */
export const appIdsOf = (cx: Cx, projectId: string, limit: number): readonly string[] =>
  cx.store.all(cx, appsOfProject, { projectId, limit }).map(({ id }) => id)

const activeApisOfProject = appTable.select(
  ["id"],
  "AND project = $projectId AND kind = 'api' AND state = 'active' ORDER BY created LIMIT $limit",
)

/** IDs of the oldest active APIs of a project. */
export const activeApisOf = (cx: Cx, projectId: string): readonly string[] =>
  cx.store.all(cx, activeApisOfProject, { projectId, limit: apisMax }).map(({ id }) => id)

const apisMax = 200

const countSelfRegistered = statement<{ count: number }>(
  "SELECT count(*) AS count FROM apps WHERE instance = $instance AND used > 0",
)

/** Number of applications that registered themselves. */
export const countSelfRegisteredApps = (cx: Cx): number =>
  cx.store.get(cx, countSelfRegistered)?.count ?? 0

const oldestUnusedApp = appTable.select(
  ["id"],
  "AND used > 0 AND used <= created ORDER BY used LIMIT 1",
)

/** ID of the oldest application that no user has signed in to; undefined if there is none. */
export const findOldestUnused = (cx: Cx): string | undefined =>
  cx.store.get(cx, oldestUnusedApp)?.id

const unusedAppsBefore = appTable.select(
  ["id"],
  "AND used > 0 AND used <= $before ORDER BY used LIMIT $limit",
)

/** IDs of applications without a sign-in since `before`, ms UTC. */
export const unusedSince = (cx: Cx, before: number, limit: number): readonly string[] =>
  cx.store.all(cx, unusedAppsBefore, { before, limit }).map(({ id }) => id)
