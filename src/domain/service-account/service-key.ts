import { createSigningPair, importPublicKey, never } from "../../kernel/crypto/signing-key.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx, Draft, Receipt } from "../../store/index.ts"
import { existing } from "../user/index.ts"
import { keepAnOwner, type UserEvent, user } from "../user-model/index.ts"

/** A key to be registered; `content` is the key file of a pair that we made, else empty. */
export type ServiceKey = {
  readonly keyId: string
  readonly publicKey: string
  readonly content: string
}

const keysMax = 100

/**
 * Makes a pair (RSA 2048) and the file that the service user's program reads. The private half is
 * not kept: this is the only time that anybody sees it.
 */
export async function createServiceKey(cx: Pick<Cx, "ids">, userId: string): Promise<ServiceKey> {
  const { publicKey, privateKey: key } = await createSigningPair()
  const keyId = cx.ids.next()
  const content = JSON.stringify({ type: "serviceaccount", keyId, key, userId })
  return { keyId, publicKey, content }
}

/** Takes over a public key in PEM. Refuses private keys and keys that are too weak. */
export const importServiceKey = (cx: Pick<Cx, "ids">, pem: string): ServiceKey => ({
  keyId: cx.ids.next(),
  publicKey: importPublicKey(pem),
  content: "",
})

type AddKey = Omit<ServiceKey, "content"> & { readonly expires: number }

/** Registers a key, until `expires`. */
export const addServiceKey = user.command<AddKey>((state, { keyId, publicKey, expires }, cx) => {
  const present = existing(state)
  if (present.kind !== "machine") {
    throw new Fault(
      "failed_precondition",
      "user.not_machine",
      "only service users have keys; people sign in themselves",
    )
  }
  if (expires <= cx.now) {
    throw invalidError("user.key_expired", "the key's expiration date must lie in the future")
  }
  if (Object.keys(present.keys).length >= keysMax) {
    throw new Fault(
      "resource_exhausted",
      "user.too_many_keys",
      `a service user has at most ${keysMax} keys; remove one that is no longer used`,
    )
  }
  const data = { keyId, publicKey, expires: Math.min(expires, never) }
  return [{ type: "user.machine.key.added", data }]
})

/** Removes a key; what it signs is refused. Answers undefined where there is no such key. */
export async function removeServiceKey(
  cx: Cx,
  userId: string,
  keyId: string,
): Promise<Receipt | undefined> {
  const step = await cx.store.transact(cx, (tx) => {
    const present = existing(tx.state(user, userId))
    if (present.kind !== "machine" || !Object.hasOwn(present.keys, keyId)) return false
    const { [keyId]: _, ...keys } = present.keys
    keepAnOwner(tx, userId, { ...present, keys })
    const removed: Draft<UserEvent> = { type: "user.machine.key.removed", data: { keyId } }
    tx.append(user, userId, [removed])
    return true
  })
  return step.value ? step.receipt(user, userId) : undefined
}

const invalidError = (id: string, message: string) => new Fault("invalid_argument", id, message)
