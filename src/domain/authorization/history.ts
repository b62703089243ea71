import { historyOf } from "../../store/index.ts"
import { authorization } from "./model.ts"

export const authorizationHistory = historyOf(authorization, {
  hidden: ["orgId", "rolesVersion", "grantVersion"],
  operations: "core.authorization.v2.AuthorizationService/*Authorization",
  undo: {
    // Nothing else is deleted with it.
    "user.grant.added": "DeleteAuthorization",
  },
})
