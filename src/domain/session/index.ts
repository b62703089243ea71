import { browser, session } from "./model.ts"
import { sessionView } from "./view.ts"

export { endSession, noteClient } from "./commands.ts"
export {
  clearedCookie,
  csrfMatches,
  csrfOf,
  enterBrowser,
  type KnownBrowser,
  readBrowser,
} from "./cookie.ts"
export { deviceCookie, deviceOf } from "./device.ts"
export { browser, lifetimes, type Session, session } from "./model.ts"
export { sessionNow, usableSession } from "./query.ts"
export { sessionEnds } from "./reactor.ts"
export { sessionsOf } from "./view.ts"

/** What this room keeps streams of. */
export const aggregates = [browser, session] as const

/** What this room shows. */
export const views = [sessionView] as const
