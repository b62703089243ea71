import type { Cx } from "../../store/index.ts"
import { bestStanding, standings } from "../instance/index.ts"
import { standingOf } from "../user-model/index.ts"

/** When nobody can administer an instance any more, in words; undefined for never. */
export async function whenOwnerless(cx: Cx): Promise<string | undefined> {
  const { value } = await cx.store.transact(cx, (tx) =>
    bestStanding(tx, (userId) => standingOf(tx, userId)),
  )
  if (value >= standings.lasting) return undefined
  return value === standings.none ? "now" : "when their keys, tokens and invitations expire"
}

/**
 * Warns where nobody owns the instance for good: its owners were given nothing but what expires, or
 * nothing. To take from them what lasts is refused; what an instance began with is not.
 */
export async function warnOfLeaving(cx: Cx): Promise<void> {
  const when = await whenOwnerless(cx)
  if (when === undefined) return
  cx.warn(
    `nobody can administer instance ${cx.instance} ${when}: give one of its owners a password or ` +
      "a secret, or a key that does not expire",
  )
}
