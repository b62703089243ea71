import { type Cx, statement, view } from "../../store/index.ts"
import type { GrantEvent } from "./model.ts"

const insert = statement(
  "INSERT INTO user_oidc_grants (instance, id, user_id) VALUES ($instance, $id, $userId)",
)
const remove = statement("DELETE FROM user_oidc_grants WHERE instance = $instance AND id = $id")

/** Which grants there are for a person; those that were ended are gone. */
export const grantView = view<GrantEvent>({
  name: "grant",
  tables: {
    user_oidc_grants: {
      columns: "id TEXT NOT NULL, user_id TEXT NOT NULL",
      key: "id",
      indexes: { user: "user_id" },
    },
  },
  on: {
    "oidc_session.added": (db, { data }) => db.run(insert, { userId: data.userId }),
    "oidc_session.terminated": (db) => db.run(remove),
  },
  dropped: { oidc_session: (db) => db.run(remove) },
})

const ofUser = statement<{ id: string }>(
  "SELECT id FROM user_oidc_grants WHERE instance = $instance AND user_id = $userId ORDER BY id",
)

/** The grants of a person that nobody has ended, oldest first; time may have. */
export const grantsOf = (cx: Cx, userId: string): readonly string[] =>
  cx.store.all(cx, ofUser, { userId }).map(({ id }) => id)
