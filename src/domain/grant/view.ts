import { type Cx, table, text, view } from "../../store/index.ts"
import type { GrantEvent } from "./model.ts"

const grantTable = table(
  "user_oidc_grants",
  { id: text(), user_id: text() },
  { key: ["id"], indexes: { user: ["user_id"] } },
)

/** The grants of each user, without those that were ended. */
export const grantView = view<GrantEvent>({
  name: "grant",
  tables: [grantTable],
  on: {
    "oidc_session.added": (db, { id, data: { userId } }) =>
      grantTable.insert(db, { id, user_id: userId }),
    "oidc_session.terminated": (db, { id }) => grantTable.remove(db, { id }),
  },
  onPruned: { oidc_session: (db, { id }) => grantTable.remove(db, { id }) },
})

const grantsOfUser = grantTable.select(["id"], "AND user_id = $userId ORDER BY id")

/** IDs of a user's grants that were not ended, oldest first; some may have expired. */
export const grantIdsOf = (cx: Cx, userId: string): readonly string[] =>
  cx.store.all(cx, grantsOfUser, { userId }).map(({ id }) => id)
