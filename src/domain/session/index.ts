import { browser, session } from "./model.ts"
import { sessionChain } from "./query.ts"
import { sessionEndReactor } from "./reactor.ts"
import { isTokenOf } from "./token.ts"
import { sessionView } from "./view.ts"

export { endSession, recordClient, type SignInProof } from "./commands.ts"
export {
  type BrowserState,
  csrfTokenOf,
  deletionCookie,
  enterBrowser,
  findBrowserOfForm,
  findCookie,
  hasCookie,
  isValidCsrfToken,
  readBrowser,
} from "./cookie.ts"
export { deviceCookieOf, findDeviceId } from "./device.ts"
export { freshTimeOf, signInEvidenceOf } from "./freshness.ts"
export {
  browser,
  federatedMethod,
  lifetimes,
  type Session,
  session,
  type Vouched,
} from "./model.ts"
export { findSession, findUsableSession, soleVoucherOf, type Voucher } from "./query.ts"
export { sessionEndReactor } from "./reactor.ts"
export {
  canUsePasskeyAlone,
  daysUntilExpiry,
  findAccountObstacle,
  findCurrentAccountObstacle,
  findSignInObstacle,
  type SignInObstacle,
} from "./sign-in-check.ts"
export { isTokenOf } from "./token.ts"
export { sessionIdsOf } from "./view.ts"

/** Everything that this module registers with the server. */
export const module = {
  aggregates: [browser, session],
  views: [sessionView],
  chains: { session: sessionChain },
  keys: { session: isTokenOf },
  reactors: [sessionEndReactor],
  operations: () => import("./api.ts"),
} as const
