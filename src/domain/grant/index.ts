import { assertion } from "./assertion.ts"
import { grant } from "./model.ts"
import { authRequest } from "./request.ts"
import { revocation } from "./revocation.ts"

export { type SpentAssertion, spendAssertion } from "./assertion.ts"
export {
  addAuthRequest,
  addGrant,
  answerRequest,
  denyConsent,
  endGrant,
  exchangeCode,
  failRequest,
  giveConsent,
  linkSession,
  type NewGrant,
  requestLifetimes,
} from "./commands.ts"
export { type Grant, grant, offlineUntil } from "./model.ts"
export { type Renewal, renewGrant } from "./refresh.ts"
export {
  type Asked,
  type AuthRequest,
  authRequest,
  type ClaimsAsked,
  type Prompt,
  type ResponseMode,
  type ResponseType,
} from "./request.ts"
export { type Revocation, revocation, revokeToken } from "./revocation.ts"

/** What this room keeps streams of. */
export const aggregates = [authRequest, grant, assertion, revocation] as const
