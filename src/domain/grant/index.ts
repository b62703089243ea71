import { assertion } from "./assertion.ts"
import { grant } from "./model.ts"
import { authRequest } from "./request.ts"

export { type SpentAssertion, spendAssertion } from "./assertion.ts"
export {
  addAuthRequest,
  answerRequest,
  endGrant,
  exchangeCode,
  failRequest,
  linkSession,
  requestLifetimes,
} from "./commands.ts"
export { type Grant, grant } from "./model.ts"
export {
  type Asked,
  type AuthRequest,
  authRequest,
  type Prompt,
  type ResponseMode,
} from "./request.ts"

/** What this room keeps streams of. */
export const aggregates = [authRequest, grant, assertion] as const
