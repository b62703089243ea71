import { historyOf } from "../../store/index.ts"
import { groupAuthorization } from "./group/model.ts"
import { authorization } from "./model.ts"

export const authorizationHistory = historyOf(authorization, {
  hidden: ["orgId", "rolesVersion", "grantVersion"],
  operations: "core.authorization.v2.AuthorizationService/*Authorization",
  undo: {
    // Undoing the addition deletes nothing else.
    "user.grant.added": "DeleteAuthorization",
  },
})

export const groupAuthorizationHistory = historyOf(groupAuthorization, {
  hidden: ["orgId", "rolesVersion", "grantVersion"],
  operations: "core.authorization.v2.AuthorizationService/*GroupAuthorization",
  target: ({ id }) => ({ id }),
  undo: {
    // Nothing else is deleted with it, so its creation can be undone.
    "group.grant.added": "DeleteGroupAuthorization",
  },
})
