import { Fault } from "../../kernel/fault.ts"
import {
  type Cx,
  foldName,
  type Searchable,
  statement,
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

/** What an application is found by; the rest is read from its state. Times are ms UTC. */
export type AppRow = {
  readonly id: string
  readonly project: string
  readonly name: string
  readonly state: AppStatus
  readonly kind: "oidc" | "api" | "saml"
  readonly client_id: string
  readonly entity_id: string
  /** When somebody last signed in to one that registered itself, to the day; 0 for others. */
  readonly used: number
  readonly created: number
  readonly changed: number
}

const insert = statement(
  `INSERT INTO apps (instance, id, org, project, name, name_folded, state, kind, client_id,
     entity_id, used, created, changed)
   VALUES ($instance, $id, $owner, $project, $name, $folded, 'active', '', '', '', 0, $time,
     $time)`,
)
const configure = statement(
  `UPDATE apps SET kind = $kind, client_id = $clientId, changed = $time
   WHERE instance = $instance AND id = $id`,
)
const identify = statement(
  `UPDATE apps SET kind = 'saml', entity_id = coalesce($entityId, entity_id), changed = $time
   WHERE instance = $instance AND id = $id`,
)
const rename = statement(
  `UPDATE apps SET name = $name, name_folded = $folded, changed = $time
   WHERE instance = $instance AND id = $id`,
)
const turn = statement(
  `UPDATE apps SET state = $state, changed = $time
   WHERE instance = $instance AND id = $id`,
)
const touch = statement("UPDATE apps SET changed = $time WHERE instance = $instance AND id = $id")
const register = statement("UPDATE apps SET used = $time WHERE instance = $instance AND id = $id")
const use = statement(
  `UPDATE apps SET used = max($time, created + 1) WHERE instance = $instance AND id = $id`,
)
const remove = statement("DELETE FROM apps WHERE instance = $instance AND id = $id")
const removeAll = statement("DELETE FROM apps WHERE instance = $instance AND project = $id")

const addKey = statement(
  `INSERT INTO app_keys (instance, id, app, project, org, public_key, expires, created, version)
   SELECT $instance, $keyId, id, project, $owner, $publicKey, $expires, $time, $version FROM apps
   WHERE instance = $instance AND id = $id`,
)
const removeKey = statement(
  "DELETE FROM app_keys WHERE instance = $instance AND app = $id AND id = $keyId",
)
const removeKeys = statement("DELETE FROM app_keys WHERE instance = $instance AND app = $id")
const removeAllKeys = statement("DELETE FROM app_keys WHERE instance = $instance AND project = $id")

type KeyData = { readonly keyId: string; readonly publicKey: string; readonly expires: number }

function keyAdded(db: ViewWriter, { data }: { readonly data: KeyData }): void {
  db.run(addKey, data)
  db.run(touch)
}

function keyRemoved(db: ViewWriter, { data }: { readonly data: Pick<KeyData, "keyId"> }): void {
  db.run(removeKey, data)
  db.run(touch)
}

export const appView = view<AppEvent | ProjectEvent>({
  name: "app",
  revision: 3,
  tables: {
    apps: {
      columns: `id TEXT NOT NULL, org TEXT NOT NULL, project TEXT NOT NULL, name TEXT NOT NULL,
        name_folded TEXT NOT NULL, state TEXT NOT NULL, kind TEXT NOT NULL,
        client_id TEXT NOT NULL, entity_id TEXT NOT NULL, used INTEGER NOT NULL,
        created INTEGER NOT NULL, changed INTEGER NOT NULL`,
      key: "id",
      indexes: {
        org: "org, created",
        project: "project, created",
        name: "name_folded",
        client: "client_id",
        entity: "entity_id",
        used: "used",
        created: "created",
      },
    },
    app_keys: {
      columns: `id TEXT NOT NULL, app TEXT NOT NULL, project TEXT NOT NULL, org TEXT NOT NULL,
        public_key TEXT NOT NULL, expires INTEGER NOT NULL, created INTEGER NOT NULL,
        version INTEGER NOT NULL`,
      key: "app, id",
      indexes: { id: "id", project: "project" },
    },
  },
  on: {
    "project.application.added": (db, { data: { projectId, name } }) =>
      db.run(insert, { project: projectId, name, folded: foldName(name) }),
    "project.application.changed": (db, { data: { name } }) =>
      db.run(rename, { name, folded: foldName(name) }),
    "project.application.deactivated": (db) => db.run(turn, { state: "inactive" }),
    "project.application.reactivated": (db) => db.run(turn, { state: "active" }),
    "project.application.removed": (db) => {
      db.run(remove)
      db.run(removeKeys)
    },
    "project.application.registered": (db) => db.run(register),
    "project.application.registration.changed": (db) => db.run(touch),
    "project.application.used": (db) => db.run(use),
    "project.application.config.oidc.added": (db, { data }) =>
      db.run(configure, { kind: "oidc", clientId: data.clientId }),
    "project.application.config.oidc.changed": (db) => db.run(touch),
    "project.application.config.oidc.secret.changed": (db) => db.run(touch),
    "project.application.config.oidc.secret.removed": (db) => db.run(touch),
    "project.application.oidc.key.added": keyAdded,
    "project.application.oidc.key.removed": keyRemoved,
    "project.application.config.api.added": (db, { data }) =>
      db.run(configure, { kind: "api", clientId: data.clientId }),
    "project.application.config.api.changed": (db) => db.run(touch),
    "project.application.config.api.secret.changed": (db) => db.run(touch),
    "project.application.config.api.secret.removed": (db) => db.run(touch),
    "project.application.api.key.added": keyAdded,
    "project.application.api.key.removed": keyRemoved,
    "project.application.config.saml.added": (db, { data: { entityId } }) =>
      db.run(identify, { entityId }),
    "project.application.config.saml.changed": (db, { data: { entityId = null } }) =>
      db.run(identify, { entityId }),
    "project.removed": (db) => {
      db.run(removeAll)
      db.run(removeAllKeys)
    },
  },
})

export const apps: Searchable = {
  table: "apps",
  columns: [
    ...["org", "project", "name", "name_folded", "state", "kind", "client_id", "entity_id"],
    ...["created", "changed"],
  ],
  names: ["name"],
  owner: { org: "org", project: "project" },
  key: "id",
  sort: "created",
}

/** A key of an application as listed; times are ms UTC. */
export type AppKeyRow = {
  readonly id: string
  readonly app: string
  readonly project: string
  readonly org: string
  readonly expires: number
  readonly created: number
  readonly version: number
}

export const appKeys: Searchable = {
  table: "app_keys",
  columns: ["app", "project", "org", "expires", "created"],
  owner: { org: "org", project: "project" },
  key: "id",
  sort: "created",
}

export const missingKeyError = (): Fault =>
  new Fault("not_found", "app_key.missing", "there is no such key")

const one = statement<AppRow>("SELECT * FROM apps WHERE instance = $instance AND id = $appId")

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

const ofProject = statement<{ id: string }>(
  `SELECT id FROM apps WHERE instance = $instance AND project = $projectId
   ORDER BY created LIMIT $limit`,
)

/** Ids of the oldest applications of a project. */
export const appIdsOf = (cx: Cx, projectId: string, limit: number): readonly string[] =>
  cx.store.all(cx, ofProject, { projectId, limit }).map(({ id }) => id)

const activeApis = statement<{ id: string }>(
  `SELECT id FROM apps
   WHERE instance = $instance AND project = $projectId AND kind = 'api' AND state = 'active'
   ORDER BY created LIMIT $limit`,
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

const neverUsed = statement<{ id: string }>(
  `SELECT id FROM apps WHERE instance = $instance AND used > 0 AND used <= created
   ORDER BY used LIMIT 1`,
)

/** Id of the oldest that nobody has ever signed in to; undefined where there is none. */
export const oldestUnused = (cx: Cx): string | undefined => cx.store.get(cx, neverUsed)?.id

const unused = statement<{ id: string }>(
  `SELECT id FROM apps WHERE instance = $instance AND used > 0 AND used <= $before
   ORDER BY used LIMIT $limit`,
)

/** Ids of those that nobody has signed in to since `before`, ms UTC. */
export const unusedSince = (cx: Cx, before: number, limit: number): readonly string[] =>
  cx.store.all(cx, unused, { before, limit }).map(({ id }) => id)
