import { type Cx, table, text, view } from "../../../store/index.ts"
import type { AppEvent } from "../../app/index.ts"
import type { UserEvent } from "../../user-model/index.ts"
import type { ConsentEvent } from "./model.ts"

const consentTable = table(
  "user_app_consents",
  { id: text(), user_id: text(), app: text() },
  { key: ["id"], indexes: { user: ["user_id"], app: ["app"] } },
)

/** The applications that a user has consented to; some consents may no longer be valid. */
export const consentView = view<ConsentEvent | AppEvent | UserEvent>({
  name: "app_consent",
  tables: [consentTable],
  on: {
    "application.consent.added": (db, { id, data: { userId, appId } }) =>
      consentTable.insertIfAbsent(db, { id, user_id: userId, app: appId }),
    "application.consent.removed": (db, { id }) => consentTable.remove(db, { id }),
    "project.application.removed": (db, { id: app }) => consentTable.remove(db, { app }),
    "user.removed": (db, { id }) => consentTable.remove(db, { user_id: id }),
  },
  onPruned: { app_consent: (db, { id }) => consentTable.remove(db, { id }) },
})

const consentsOfUser = consentTable.select(["app"], "AND user_id = $userId ORDER BY id")

/** IDs of the applications that a user has consented to; some consents may have expired. */
export const consentedAppIds = (cx: Cx, userId: string): readonly string[] =>
  cx.store.all(cx, consentsOfUser, { userId }).map(({ app }) => app)
