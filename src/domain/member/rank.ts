import type { Cx } from "../../store/index.ts"
import { lackingIn, type Reader } from "./commands.ts"
import { stateReader } from "./custom-role.ts"
import { memberships } from "./view.ts"

/**
 * Whether the caller holds all that a user holds. Who sets somebody's password or keys can act as
 * them, so it is the same as giving their roles away.
 */
export function outranks(cx: Cx, userId: string): boolean {
  if (cx.caller.kind === "user" && cx.caller.userId === userId) return true
  const read: Reader = { ...stateReader(cx), caller: cx.caller }
  return memberships(cx, userId).every(({ level, id, roles }) => {
    const target = level === "instance" ? { level } : { level, id }
    return lackingIn(read, { target, roles }) === undefined
  })
}
