import { type Cx, statement, view } from "../../../store/index.ts"
import type { AppEvent } from "../../app/index.ts"
import type { UserEvent } from "../../user-model/index.ts"
import type { ConsentEvent } from "./model.ts"

const insert = statement(
  `INSERT INTO user_app_consents (instance, id, user_id, app)
   VALUES ($instance, $id, $userId, $appId) ON CONFLICT DO NOTHING`,
)
const remove = statement("DELETE FROM user_app_consents WHERE instance = $instance AND id = $id")
const removeApp = statement(
  "DELETE FROM user_app_consents WHERE instance = $instance AND app = $id",
)
const removeUser = statement(
  "DELETE FROM user_app_consents WHERE instance = $instance AND user_id = $id",
)

/** Which applications have consents of a user; some may no longer be valid. */
export const consentView = view<ConsentEvent | AppEvent | UserEvent>({
  name: "app_consent",
  tables: {
    user_app_consents: {
      columns: "id TEXT NOT NULL, user_id TEXT NOT NULL, app TEXT NOT NULL",
      key: "id",
      indexes: { user: "user_id", app: "app" },
    },
  },
  on: {
    "application.consent.added": (db, { data: { userId, appId } }) =>
      db.run(insert, { userId, appId }),
    "application.consent.removed": (db) => db.run(remove),
    "project.application.removed": (db) => db.run(removeApp),
    "user.removed": (db) => db.run(removeUser),
  },
  dropped: { app_consent: (db) => db.run(remove) },
})

const ofUser = statement<{ app: string }>(
  "SELECT app FROM user_app_consents WHERE instance = $instance AND user_id = $userId ORDER BY id",
)

/** The applications that a user has allowed something for some time; it may have passed. */
export const consentedApps = (cx: Cx, userId: string): readonly string[] =>
  cx.store.all(cx, ofUser, { userId }).map(({ app }) => app)
