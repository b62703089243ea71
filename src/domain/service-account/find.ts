import { type Cx, statement } from "../../store/index.ts"
import { clientClaim } from "../instance/index.ts"
import { isAbsent, type Machine, user } from "../user-model/index.ts"

const selectKey = statement<{ publicKey: string; expires: number }>(
  `SELECT public_key AS publicKey, expires FROM user_keys
   WHERE instance = $instance AND user_id = $userId AND key_id = $keyId`,
)

/** Finds a service account by user name. */
export function findMachineByName(cx: Cx, name: string): string | undefined {
  const holder = cx.store.log.holder(cx.instance, clientClaim, name, cx.clock.now())
  return holder?.stream === user.stream ? holder.id : undefined
}

/**
 * Finds the service account of a client ID: its user name, or its user ID, which is the only one in
 * a key file. A user name can't be the ID of another user.
 */
export function findMachine(
  cx: Cx,
  clientId: string,
): { readonly userId: string; readonly state: Machine } | undefined {
  const userId = findMachineByName(cx, clientId) ?? clientId
  const state = cx.store.state(cx, user, userId)
  if (isAbsent(state) || state.kind !== "machine") return undefined
  return { userId, state }
}

/**
 * The public key (PEM, SPKI) of a service account for checking assertions, and its expiration, ms
 * UTC.
 */
export const findServiceKey = (
  cx: Cx,
  userId: string,
  keyId: string,
): { readonly publicKey: string; readonly expires: number } | undefined =>
  cx.store.get(cx, selectKey, { userId, keyId })
