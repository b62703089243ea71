import { type Cx, statement } from "../../store/index.ts"
import { clientClaim } from "../instance/index.ts"
import { hasLeft, type Machine, user } from "../user-model/index.ts"

const key = statement<{ publicKey: string; expires: number }>(
  `SELECT public_key AS publicKey, expires FROM user_keys
   WHERE instance = $instance AND user_id = $userId AND key_id = $keyId`,
)

/** The service user of a name. */
export function findMachineByName(cx: Cx, name: string): string | undefined {
  const holder = cx.store.log.holder(cx.instance, clientClaim, name, cx.clock.now())
  return holder?.stream === user.stream ? holder.id : undefined
}

/**
 * The service user that a client id names: its user name, or its id, which is all that the file of
 * its key tells a program. No name is another one's id.
 */
export function findMachine(
  cx: Cx,
  clientId: string,
): { readonly userId: string; readonly state: Machine } | undefined {
  const userId = findMachineByName(cx, clientId) ?? clientId
  const state = cx.store.state(cx, user, userId)
  if (hasLeft(state) || state.kind !== "machine") return undefined
  return { userId, state }
}

/** The public key (PEM, SPKI) that a service user's assertions are checked with; ms UTC. */
export const serviceUserKey = (
  cx: Cx,
  userId: string,
  keyId: string,
): { readonly publicKey: string; readonly expires: number } | undefined =>
  cx.store.get(cx, key, { userId, keyId })
