import type { Cx } from "../../store/index.ts"
import { failureErasure } from "../lockout/index.ts"
import { orgWithDomain } from "../org/index.ts"
import { user } from "../user-model/index.ts"
import { userChain } from "./query.ts"
import { supersessions } from "./supersede.ts"
import { userView } from "./view.ts"

export { accountWith } from "./account-with.ts"
export { candidatesFor } from "./candidate.ts"
export { confirmEmails } from "./confirm.ts"
export { findByLoginName, shownNames } from "./find-name.ts"
export {
  accountOf,
  findUser,
  isSignInCurrent,
  isUserActive,
  passwordVersion,
  profile,
  profileFor,
  signInVersion,
  strangersOn,
  type UserInfo,
  userChain,
  userNameOf,
  usersOf,
} from "./query.ts"
export { isTemporary, temporaryUsers } from "./temporary.ts"
export { isUnknownName, orgNamedIn } from "./unknown-name.ts"
export { sharedEmails, verifiedAtHomeOnly } from "./verified.ts"
export { type UserKeyRow, type UserTokenRow, userKeys, userTokens } from "./view.ts"

/** What this module is to the whole. */
export const module = {
  aggregates: [{ ...user, consequences: [supersessions, failureErasure] }],
  views: [userView],
  chains: {
    user: userChain,
    /** An organisation, by its primary domain. */
    org_domain: (cx: Cx, domain: string) => {
      const org = orgWithDomain(cx, domain)
      return org === undefined ? undefined : ({ instance: true, org } as const)
    },
  },
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
