import type { Cx } from "../../store/index.ts"
import { bestOwnerAbility, signInAbilities } from "../instance/index.ts"
import { signInStatusOf } from "../user-model/index.ts"

/** When the instance will have no administrator who can sign in, as text; undefined if never. */
export async function findOwnerlessTime(cx: Cx): Promise<string | undefined> {
  const { value } = await cx.store.transact(cx, (tx) =>
    bestOwnerAbility(tx, (userId) => signInStatusOf(tx, userId)),
  )
  if (value >= signInAbilities.lasting) return undefined
  return value === signInAbilities.none ? "now" : "when their keys, tokens and invitations expire"
}

/**
 * Logs a warning if all owners of the instance have only expiring credentials, or none. Removing
 * the last permanent credential is rejected, but an instance can be created without one.
 */
export async function warnIfOwnerless(cx: Cx): Promise<void> {
  const when = await findOwnerlessTime(cx)
  if (when === undefined) return
  const state =
    when === "now"
      ? "has no administrator who can sign in"
      : `will have no administrator who can sign in ${when}`
  cx.warn(
    `instance ${cx.instance} ${state}: give one of its owners a password or a secret, or a key ` +
      "that does not expire",
  )
}
