import { type Cx, statement, view } from "../../../store/index.ts"
import type { KeyPairEvent } from "./model.ts"

/** A key pair that is not removed. Times are ms UTC. */
export type KeyPairRow = {
  readonly id: string
  readonly certificate: string
  readonly sealed: string
  readonly sealedNames: string
  readonly created: number
  readonly signsFrom: number
  readonly expires: number
}

const insert = statement(
  `INSERT INTO key_pairs (instance, id, certificate, sealed, sealed_names, created, signs_from,
     expires)
   VALUES ($instance, $id, $certificate, $sealed, $sealedNames, $time, $signsFrom, $expires)`,
)
const remove = statement("DELETE FROM key_pairs WHERE instance = $instance AND id = $id")

export const keyPairView = view<KeyPairEvent>({
  name: "key_pair",
  tables: {
    key_pairs: {
      columns: `id TEXT NOT NULL, certificate TEXT NOT NULL, sealed TEXT NOT NULL,
        sealed_names TEXT NOT NULL, created INTEGER NOT NULL, signs_from INTEGER NOT NULL,
        expires INTEGER NOT NULL`,
      key: "id",
    },
  },
  on: {
    "key_pair.added": (db, { data, private: secret }) =>
      db.run(insert, {
        certificate: data.certificate,
        signsFrom: data.signsFrom,
        expires: data.expires,
        // Erased only together with the pair, whose row then goes as well.
        sealed: secret?.sealed ?? "",
        sealedNames: secret?.sealedNames ?? "",
      }),
    "key_pair.removed": (db) => db.run(remove),
  },
})

const list = statement<KeyPairRow>(
  `SELECT id, certificate, sealed, sealed_names AS sealedNames, created, signs_from AS signsFrom,
     expires
   FROM key_pairs WHERE instance = $instance ORDER BY created, id`,
)

/** All that are not removed, oldest first. */
export const listKeyPairs = (cx: Cx): readonly KeyPairRow[] => cx.store.all(cx, list)
