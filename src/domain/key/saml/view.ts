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

/** A key pair that is not removed. Times are ms UTC. */
export type KeyPairRow = RowOf<typeof keyPairs>

export const keyPairView = view<KeyPairEvent>({
  name: "key_pair",
  tables: [keyPairs],
  on: {
    "key_pair.added": (db, { id, data, private: secret, time }) =>
      keyPairs.insert(db, {
        id,
        certificate: data.certificate,
        // Erased only together with the pair, whose row then goes as well.
        sealed: secret?.sealed ?? "",
        sealed_names: secret?.sealedNames ?? "",
        created: time,
        signs_from: data.signsFrom,
        expires: data.expires,
      }),
    "key_pair.removed": (db, { id }) => keyPairs.remove(db, { id }),
  },
})

const list = keyPairs.select("*", "ORDER BY created, id")

/** All that are not removed, oldest first. */
export const listKeyPairs = (cx: Cx): readonly KeyPairRow[] => cx.store.all(cx, list)
