import { browser, session } from "./model.ts"

export { endSession } from "./commands.ts"
export {
  clearedCookie,
  csrfMatches,
  csrfOf,
  enterBrowser,
  type KnownBrowser,
  readBrowser,
} from "./cookie.ts"
export { browser, lifetimes, type Session, session } from "./model.ts"
export { sessionNow, usableSession } from "./query.ts"

/** What this room keeps streams of. */
export const aggregates = [browser, session] as const
