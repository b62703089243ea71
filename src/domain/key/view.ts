import { type Cx, statement, view } from "../../store/index.ts"
import type { Algorithm, KeyKind, PublicJwk, WebKeyEvent, WebKeyStatus } from "./model.ts"

/** A key that is not removed, as it is listed. Times are ms UTC. */
export type WebKeyRow = {
  readonly id: string
  readonly status: Exclude<WebKeyStatus, "removed">
  readonly algorithm: Algorithm
  readonly kind: KeyKind
  readonly publicKey: PublicJwk
  readonly created: number
  readonly changed: number
}

type Stored = Omit<WebKeyRow, "kind" | "publicKey"> & {
  readonly kind: string
  readonly publicKey: string
}

const insert = statement(
  `INSERT INTO web_keys (instance, id, status, algorithm, kind, public_key, sealed, created,
     changed)
   VALUES ($instance, $id, 'initial', $algorithm, $kind, $publicKey, $sealed, $time, $time)`,
)
const turn = statement(
  `UPDATE web_keys SET status = $status, changed = $time
   WHERE instance = $instance AND id = $id`,
)
const remove = statement("DELETE FROM web_keys WHERE instance = $instance AND id = $id")

/** Published keys; removed ones are gone. */
export const webKeyView = view<WebKeyEvent>({
  name: "web_key",
  tables: {
    web_keys: {
      columns: `id TEXT NOT NULL, status TEXT NOT NULL, algorithm TEXT NOT NULL,
        kind TEXT NOT NULL, public_key TEXT NOT NULL, sealed TEXT NOT NULL,
        created INTEGER NOT NULL, changed INTEGER NOT NULL`,
      key: "id",
    },
  },
  on: {
    "web_key.added": (db, { data, private: secret }) =>
      db.run(insert, {
        algorithm: data.algorithm,
        kind: JSON.stringify(data.kind),
        publicKey: JSON.stringify(data.publicKey),
        // Erased only together with the key, whose row then goes as well.
        sealed: secret?.sealed ?? "",
      }),
    "web_key.activated": (db) => db.run(turn, { status: "active" }),
    "web_key.deactivated": (db) => db.run(turn, { status: "inactive" }),
    "web_key.removed": (db) => db.run(remove),
  },
})

const columns = "id, status, algorithm, kind, public_key AS publicKey, created, changed"

const list = statement<Stored>(
  `SELECT ${columns} FROM web_keys WHERE instance = $instance ORDER BY created, id`,
)
const active = statement<{ id: string; sealed: string }>(
  `SELECT id, sealed FROM web_keys
   WHERE instance = $instance AND algorithm = $algorithm AND status = 'active'`,
)

/** All keys but the removed ones, oldest first; tokens that any of them signed are believed. */
export const listWebKeys = (cx: Cx): readonly WebKeyRow[] =>
  cx.store.all(cx, list).map(({ kind, publicKey, ...row }) => ({
    ...row,
    kind: JSON.parse(kind),
    publicKey: JSON.parse(publicKey),
  }))

/** The key that signs with the algorithm, its private half still sealed. */
export const activeKey = (cx: Cx, algorithm: Algorithm) => cx.store.get(cx, active, { algorithm })
