import { createSigningPair, importPublicKey } from "../../kernel/crypto/signing-key.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import { type CredentialKind, expiryOf, removalFrom } from "../family/index.ts"
import { existing } from "../user/index.ts"
import { keepAnOwner, user } from "../user-model/index.ts"

/** A key to be registered; `content` is the key file of a pair that we made, else empty. */
export type ServiceKey = {
  readonly keyId: string
  readonly publicKey: string
  readonly content: string
}

const serviceKeys = {
  noun: "key",
  holder: "a service user",
  errorIds: { expired: "user.key_expired", tooMany: "user.too_many_keys" },
} as const satisfies CredentialKind

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
export const addServiceKey = user.command<AddKey>(
  (state, { keyId, publicKey, expires }, { now }) => {
    const present = existing(state)
    if (present.kind !== "machine") {
      throw new Fault(
        "failed_precondition",
        "user.not_machine",
        "only service users have keys; people sign in themselves",
      )
    }
    const count = Object.keys(present.keys).length
    const data = { keyId, publicKey, expires: expiryOf(serviceKeys, { expires, now, count }) }
    return [{ type: "user.machine.key.added", data }]
  },
)

/** Removes a key; what it signs is refused. Answers undefined where there is no such key. */
export const removeServiceKey = removalFrom(user)<string>((state, keyId, tx, userId) => {
  const present = existing(state)
  if (present.kind !== "machine" || !Object.hasOwn(present.keys, keyId)) return undefined
  const { [keyId]: _, ...keys } = present.keys
  keepAnOwner(tx, userId, { ...present, keys })
  return { type: "user.machine.key.removed", data: { keyId } }
})
