import { type Cx, integer, type RowOf, table, text, view } from "../../../store/index.ts"
import type { KeyPairEvent } from "./model.ts"

const keyPairs = table(
  "key_pairs",
  {
    id: text(),
    certificate: text(),
    sealed: text(),
    sealed_names: text(),
    created: integer(),
    signs_from: integer(),
    expires: integer(),
  },
  { key: ["id"] },
)

/** A key pair that was not removed. Times are ms UTC. */
export type KeyPairRow = RowOf<typeof keyPairs>

export const keyPairView = view<KeyPairEvent>({
  name: "key_pair",
  tables: [keyPairs],
  on: {
    "key_pair.added": (db, { id, data, private: secret, time }) =>
      keyPairs.insert(db, {
        id,
        certificate: data.certificate,
        // Erased only together with the key pair, whose row is deleted, too.
        sealed: secret?.sealed ?? "",
        sealed_names: secret?.sealedNames ?? "",
        created: time,
        signs_from: data.signsFrom,
        expires: data.expires,
      }),
    "key_pair.removed": (db, { id }) => keyPairs.remove(db, { id }),
  },
})

const allKeyPairs = keyPairs.select("*", "ORDER BY created, id")

/** All key pairs that were not removed, oldest first. */
export const listKeyPairs = (cx: Cx): readonly KeyPairRow[] => cx.store.all(cx, allKeyPairs)
