import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"

/**
 * Who gives a user a credential, a name or an address can act as them from then on: nobody does so
 * for a user who may do more than they themself, be it elsewhere. Only for operations that do it by
 * some of their fields; of the others the book says it.
 */
export function mustOutrank(cx: Cx, id: string): void {
  if (cx.caller.kind === "system" || cx.outranks?.(id)) return
  throw new Fault(
    "permission_denied",
    "user.outranks_you",
    "this user has roles elsewhere that you lack, and whoever does this can act with them; " +
      "take these roles from them first, or ask somebody who may do as much",
  )
}
