import { type Cx, statement, view } from "../../store/index.ts"
import type { SessionEvent } from "./model.ts"

const insert = statement(
  "INSERT INTO user_sessions (instance, id, user_id) VALUES ($instance, $id, $userId)",
)
const remove = statement("DELETE FROM user_sessions WHERE instance = $instance AND id = $id")

/** Which sessions a person has; those that were ended are gone. */
export const sessionView = view<SessionEvent>({
  name: "session",
  tables: {
    user_sessions: {
      columns: "id TEXT NOT NULL, user_id TEXT NOT NULL",
      key: "id",
      indexes: { user: "user_id" },
    },
  },
  on: {
    "session.added": (db, { data }) => db.run(insert, { userId: data.userId }),
    "session.terminated": (db) => db.run(remove),
  },
  dropped: { session: (db) => db.run(remove) },
})

const ofUser = statement<{ id: string }>(
  "SELECT id FROM user_sessions WHERE instance = $instance AND user_id = $userId ORDER BY id",
)

/** The sessions of a person that nobody has ended, oldest first; time may have. */
export const sessionsOf = (cx: Cx, userId: string): readonly string[] =>
  cx.store.all(cx, ofUser, { userId }).map(({ id }) => id)
