import type { Transaction } from "../../store/index.ts"
import { addPolicyIn, login } from "../policy/index.ts"

/**
 * Allows recovery codes on a new instance. It is said of the instance itself: the standard of the
 * policy, which applies to instances from before, does not allow them.
 */
export const allowRecoveryCodes = (tx: Transaction): void =>
  addPolicyIn(tx, undefined, {
    policy: login,
    say: ({ secondFactors }) => ({ secondFactors: [...secondFactors, "recovery_codes" as const] }),
  })
