import { passwordCheck } from "./attempt.ts"
import { factorCount } from "./check-count.ts"
import { codeCount } from "./code-count.ts"
import { failedSignInView } from "./failure.ts"
import { failedTries } from "./lockout.ts"

export {
  countFailure,
  inTurn,
  isStandIn,
  keepAhead,
  keepFailure,
  lineAt,
  lineOf,
  nobody,
  passwordCheck,
  turnsFor,
  waitingMax,
} from "./attempt.ts"
export {
  countRight,
  countWrong,
  isStepTaken,
  isUsed,
  mayTryFactor,
  stepWindow,
  usedUp,
} from "./check-count.ts"
export {
  type CodeFor,
  type CodeOf,
  codeGenerators,
  countCodeFailure,
  countLinkUsed,
  countRequest,
  type GuessedCode,
  isKeyValid,
  isRequestedOften,
  isTypedValid,
  mayTryCode,
} from "./code-count.ts"
export { accountStreams, failureErasure } from "./failure.ts"
export { countFailedTry, forgetFailedTries } from "./lockout.ts"

/** What this module is to the whole. */
export const module = {
  aggregates: [passwordCheck, failedTries, codeCount, factorCount],
  views: [failedSignInView],
  operations: () => import("./api.ts"),
} as const
