import type { Transaction } from "../../store/index.ts"
import { addPolicyInTransaction, login } from "../policy/index.ts"

/**
 * Allows recovery codes on a new instance. This is an explicit setting of the instance, because the
 * default, which applies to older instances, does not allow them.
 */
export const allowRecoveryCodes = (tx: Transaction): void =>
  addPolicyInTransaction(tx, undefined, {
    policy: login,
    apply: ({ secondFactors }) => ({
      secondFactors: [...secondFactors, "recovery_codes" as const],
    }),
  })
