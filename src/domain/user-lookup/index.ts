import type { Cx } from "../../store/index.ts"
import { failureErasure } from "../lockout/index.ts"
import { orgWithDomain } from "../org/index.ts"
import { user } from "../user-model/index.ts"
import { findUserChain } from "./query.ts"
import { supersessions } from "./supersede.ts"
import { userView } from "./view.ts"

export { findAccountByEmail } from "./account-with.ts"
export { findCandidates } from "./candidate.ts"
export { confirmEmails } from "./confirm.ts"
export { displayNames, findByLoginName } from "./find-name.ts"
export {
  accountOf,
  findProfile,
  findProfileFor,
  findUserChain,
  findUserName,
  isSignInCurrent,
  isUserActive,
  listOthersOnDomain,
  listUserIds,
  passwordVersion,
  requireUserRow,
  signInVersion,
  type UserInfo,
} from "./query.ts"
export { isTemporary, listTemporaryUsers } from "./temporary.ts"
export { findOrgOfName, isUnknownNameDisclosed } from "./unknown-name.ts"
export { iterateOrgVerified, listSharedEmails } from "./verified.ts"
export { type UserKeyRow, type UserTokenRow, userKeys, userTokens } from "./view.ts"

/** Parts of this module that the server loads. */
export const module = {
  aggregates: [{ ...user, consequences: [supersessions, failureErasure] }],
  views: [userView],
  chains: {
    user: findUserChain,
    /** Finds an organization by its primary domain. */
    org_domain: (cx: Cx, domain: string) => {
      const org = orgWithDomain(cx, domain)
      return org === undefined ? undefined : ({ instance: true, org } as const)
    },
  },
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
