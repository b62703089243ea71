import type { Cx } from "../../store/index.ts"
import { lackingIn, type Reader } from "./commands.ts"
import { memberships } from "./view.ts"

/**
 * Whether the caller holds all that a user holds. Who sets somebody's password or keys can act as
 * them, so it is the same as giving their roles away.
 */
export function outranks(cx: Cx, userId: string): boolean {
  if (cx.caller.kind === "user" && cx.caller.userId === userId) return true
  const { instance, caller } = cx
  const read: Reader = { instance, caller, state: (kind, id) => cx.store.state(cx, kind, id) }
  return memberships(cx, userId).every(({ level, id, roles }) => {
    const target = level === "instance" ? { level } : { level, id }
    return lackingIn(read, { target, roles }) === undefined
  })
}
