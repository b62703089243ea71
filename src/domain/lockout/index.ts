import { passwordCheck } from "./attempt.ts"
import { factorCount } from "./check-count.ts"
import { codeCount } from "./code-count.ts"
import { failedSignInView } from "./failure.ts"
import { failedAttempts } from "./lockout.ts"

export {
  countFailure,
  createSlotServer,
  directoryThrottleKey,
  isStandIn,
  passwordCheck,
  recordBeforehand,
  recordFailure,
  runThrottled,
  throttleKeyOf,
  unknownAccountPrefix,
  waitingMax,
} from "./attempt.ts"
export {
  consumeChallenge,
  countFactorFailure,
  isStepUsed,
  isUsed,
  recordFactorSuccess,
  requireFactorAllowed,
  stepWindow,
} from "./check-count.ts"
export {
  type CodeFor,
  type CodeReference,
  type ContactKind,
  codeGenerators,
  countCodeFailure,
  countLinkUsed,
  countRequest,
  isCodeAloneAccepted,
  isLinkKeyAccepted,
  isRequestedOften,
  requireCodeAttemptAllowed,
} from "./code-count.ts"
export { failureErasure, listAccountStreams } from "./failure.ts"
export { countFailedAttempt, resetFailedAttempts } from "./lockout.ts"

/** Parts of this module that the server loads. */
export const module = {
  aggregates: [passwordCheck, failedAttempts, codeCount, factorCount],
  views: [failedSignInView],
  operations: () => import("./api.ts"),
} as const
