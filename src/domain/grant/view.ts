import { type Cx, table, text, view } from "../../store/index.ts"
import type { GrantEvent } from "./model.ts"

const grantTable = table(
  "user_oidc_grants",
  { id: text(), user_id: text() },
  { key: ["id"], indexes: { user: ["user_id"] } },
)

/** Which grants there are for a person; those that were ended are gone. */
export const grantView = view<GrantEvent>({
  name: "grant",
  tables: [grantTable],
  on: {
    "oidc_session.added": (db, { id, data: { userId } }) =>
      grantTable.insert(db, { id, user_id: userId }),
    "oidc_session.terminated": (db, { id }) => grantTable.remove(db, { id }),
  },
  dropped: { oidc_session: (db, { id }) => grantTable.remove(db, { id }) },
})

const ofUser = grantTable.select(["id"], "AND user_id = $userId ORDER BY id")

/** The grants of a person that nobody has ended, oldest first; time may have. */
export const grantsOf = (cx: Cx, userId: string): readonly string[] =>
  cx.store.all(cx, ofUser, { userId }).map(({ id }) => id)
