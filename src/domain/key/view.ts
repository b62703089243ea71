import { type Cx, integer, json, type RowOf, table, text, view } from "../../store/index.ts"
import type { Algorithm, KeyKind, PublicJwk, WebKeyEvent, WebKeyStatus } from "./model.ts"

const webKeys = table(
  "web_keys",
  {
    id: text(),
    status: text<Exclude<WebKeyStatus, "removed">>(),
    algorithm: text<Algorithm>(),
    kind: json<KeyKind>(),
    public_key: json<PublicJwk>(),
    sealed: text(),
    created: integer(),
    changed: integer(),
  },
  { key: ["id"] },
)

/** A listed key that was not removed. Times are ms UTC. */
export type WebKeyRow = Omit<RowOf<typeof webKeys>, "public_key" | "sealed"> & {
  readonly publicKey: PublicJwk
}

/** Published keys; removed ones are deleted. */
export const webKeyView = view<WebKeyEvent>({
  name: "web_key",
  tables: [webKeys],
  on: {
    "web_key.added": (db, { id, data, private: secret, time }) =>
      webKeys.insert(db, {
        id,
        status: "initial",
        algorithm: data.algorithm,
        kind: data.kind,
        public_key: data.publicKey,
        // Erased only together with the key, whose row is deleted, too.
        sealed: secret?.sealed ?? "",
        created: time,
        changed: time,
      }),
    "web_key.activated": (db, { id, time }) =>
      webKeys.update(db, { id }, { status: "active", changed: time }),
    "web_key.deactivated": (db, { id, time }) =>
      webKeys.update(db, { id }, { status: "inactive", changed: time }),
    "web_key.removed": (db, { id }) => webKeys.remove(db, { id }),
  },
})

const publishedKeys = webKeys.select(
  ["id", "status", "algorithm", "kind", "public_key", "created", "changed"],
  "ORDER BY created, id",
)
const activeKeyOf = webKeys.select(
  ["id", "sealed"],
  "AND algorithm = $algorithm AND status = 'active'",
)

/** All keys that were not removed, oldest first; tokens signed by any of them are valid. */
export const listWebKeys = (cx: Cx): readonly WebKeyRow[] =>
  cx.store
    .all(cx, publishedKeys)
    .map(({ public_key: publicKey, ...row }) => ({ ...row, publicKey }))

/** The active key of an algorithm, with its sealed private key. */
export const findActiveKey = (cx: Cx, algorithm: Algorithm) =>
  cx.store.get(cx, activeKeyOf, { algorithm })
