import { browser, session } from "./model.ts"
import { sessionChain } from "./query.ts"
import { sessionEnds } from "./reactor.ts"
import { isTokenOf } from "./token.ts"
import { sessionView } from "./view.ts"

export { endSession, noteClient, type Proof } from "./commands.ts"
export {
  bringsCookie,
  browserOfForm,
  clearedCookie,
  cookieIn,
  csrfMatches,
  csrfOf,
  enterBrowser,
  type KnownBrowser,
  readBrowser,
} from "./cookie.ts"
export { deviceCookie, deviceOf } from "./device.ts"
export {
  daysLeftOf,
  type Hindrance,
  hindranceOf,
  mayUsePasskeyAlone,
  standingNow,
  standingOf,
} from "./entry.ts"
export { evidenceOf, freshTimeOf } from "./freshness.ts"
export { browser, federated, lifetimes, type Session, session, type Vouched } from "./model.ts"
export { sessionNow, soleVoucherOf, usableSession, type Voucher } from "./query.ts"
export { sessionEnds } from "./reactor.ts"
export { isTokenOf } from "./token.ts"
export { sessionsOf } from "./view.ts"

/** What this module is to the whole. */
export const module = {
  aggregates: [browser, session],
  views: [sessionView],
  chains: { session: sessionChain },
  keys: { session: isTokenOf },
  reactors: [sessionEnds],
  operations: () => import("./api.ts"),
} as const
