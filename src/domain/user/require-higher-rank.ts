import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"

/**
 * Rejects callers with fewer permissions than the user, also on other resources: a caller who sets
 * a credential, name or address of a user can sign in as that user. For operations where this
 * depends on the fields; other operations declare it in their access rule.
 */
export function requireHigherRank(cx: Cx, id: string): void {
  if (cx.caller.kind === "system" || cx.outranks?.(id)) return
  throw new Fault(
    "permission_denied",
    "user.outranks_you",
    "permission denied: this user has roles elsewhere that you don't have, and this change " +
      "would let you act with them; remove these roles first, or ask an administrator who " +
      "has them",
  )
}
