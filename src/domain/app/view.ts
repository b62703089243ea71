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
  isGone,
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
    /** When somebody last signed in to one that registered itself, to the day; 0 for others. */
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

/** What an application is found by; the rest is read from its state. Times are ms UTC. */
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

const change = (db: ViewWriter, { id, time }: Envelope, changes: ChangesOf<typeof appTable>) =>
  appTable.update(db, { id }, { ...changes, changed: time })

const touch = (db: ViewWriter, event: Envelope) => change(db, event, {})

const use = statement(
  `UPDATE apps SET used = max($time, created + 1) WHERE instance = $instance AND id = $id`,
)

const projectOf = appTable.select(["project"], "AND id = $id")

type KeyData = { readonly keyId: string; readonly publicKey: string; readonly expires: number }

function keyAdded(db: ViewWriter, event: Envelope & { readonly data: KeyData }): void {
  const { id, owner, data, time, version } = event
  const app = db.get(projectOf)
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
  touch(db, event)
}

function keyRemoved(
  db: ViewWriter,
  event: Envelope & { readonly data: Pick<KeyData, "keyId"> },
): void {
  keyTable.remove(db, { app: event.id, id: event.data.keyId })
  touch(db, event)
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
      change(db, event, { name: event.data.name, name_folded: foldName(event.data.name) }),
    "project.application.access.changed": touch,
    "project.application.deactivated": (db, event) => change(db, event, { state: "inactive" }),
    "project.application.reactivated": (db, event) => change(db, event, { state: "active" }),
    "project.application.removed": (db, { id }) => {
      appTable.remove(db, { id })
      keyTable.remove(db, { app: id })
    },
    "project.application.registered": (db, { id, time }) =>
      appTable.update(db, { id }, { used: time }),
    "project.application.registration.changed": touch,
    "project.application.used": (db) => db.run(use),
    "project.application.config.oidc.added": (db, event) =>
      change(db, event, { kind: "oidc", client_id: event.data.clientId }),
    "project.application.config.oidc.changed": touch,
    "project.application.config.oidc.secret.changed": touch,
    "project.application.config.oidc.secret.removed": touch,
    "project.application.oidc.key.added": keyAdded,
    "project.application.oidc.key.removed": keyRemoved,
    "project.application.config.api.added": (db, event) =>
      change(db, event, { kind: "api", client_id: event.data.clientId }),
    "project.application.config.api.changed": touch,
    "project.application.config.api.secret.changed": touch,
    "project.application.config.api.secret.removed": touch,
    "project.application.api.key.added": keyAdded,
    "project.application.api.key.removed": keyRemoved,
    "project.application.config.saml.added": (db, event) =>
      change(db, event, { kind: "saml", entity_id: event.data.entityId }),
    "project.application.config.saml.changed": (db, event) =>
      change(db, event, { kind: "saml", entity_id: event.data.entityId }),
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

export const missingKeyError = (): Fault =>
  new Fault("not_found", "app_key.missing", "there is no such key")

const one = appTable.select("*", "AND id = $appId")

/** One application as it is listed; faults where there is none. */
export function findApp(cx: Cx, id: string): AppRow {
  const row = cx.store.get(cx, one, { appId: id })
  if (!row) throw missingAppError()
  return row
}

export const missingAppError = (): Fault =>
  new Fault("not_found", "app.missing", "there is no such application")

/** Refuses an application that never was or is removed. */
export function mustExist(
  state: App,
): asserts state is Exclude<App, { status: "absent" | "removed" }> {
  if (isGone(state)) throw missingAppError()
}

/** Refuses an application that has neither secrets nor keys. */
export function mustBeClient(state: App): asserts state is OidcApp | ApiApp {
  if (isClient(state)) return
  throw new Fault(
    "failed_precondition",
    "app.no_client",
    "a SAML application has no secrets and no keys: its metadata holds its certificates",
  )
}

const ofProject = appTable.select(["id"], "AND project = $projectId ORDER BY created LIMIT $limit")

/** Ids of the oldest applications of a project. */
export const appIdsOf = (cx: Cx, projectId: string, limit: number): readonly string[] =>
  cx.store.all(cx, ofProject, { projectId, limit }).map(({ id }) => id)

const activeApis = appTable.select(
  ["id"],
  "AND project = $projectId AND kind = 'api' AND state = 'active' ORDER BY created LIMIT $limit",
)

/** Ids of the oldest active APIs of a project. */
export const activeApisOf = (cx: Cx, projectId: string): readonly string[] =>
  cx.store.all(cx, activeApis, { projectId, limit: apisMax }).map(({ id }) => id)

const apisMax = 200

const living = statement<{ count: number }>(
  "SELECT count(*) AS count FROM apps WHERE instance = $instance AND used > 0",
)

/** How many applications there are that registered themselves. */
export const countRegistered = (cx: Cx): number => cx.store.get(cx, living)?.count ?? 0

const neverUsed = appTable.select(["id"], "AND used > 0 AND used <= created ORDER BY used LIMIT 1")

/** Id of the oldest that nobody has ever signed in to; undefined where there is none. */
export const oldestUnused = (cx: Cx): string | undefined => cx.store.get(cx, neverUsed)?.id

const unused = appTable.select(
  ["id"],
  "AND used > 0 AND used <= $before ORDER BY used LIMIT $limit",
)

/** Ids of those that nobody has signed in to since `before`, ms UTC. */
export const unusedSince = (cx: Cx, before: number, limit: number): readonly string[] =>
  cx.store.all(cx, unused, { before, limit }).map(({ id }) => id)
