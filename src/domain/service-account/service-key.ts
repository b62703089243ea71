import { createSigningPair, importPublicKey } from "../../kernel/crypto/signing-key.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Cx } from "../../store/index.ts"
import { type CredentialKind, createRemoval, requireExpiry } from "../family/index.ts"
import { requireExists } from "../user/index.ts"
import { requireOtherOwner, user } from "../user-model/index.ts"

/** A key to register; `content` is the key file of a generated pair, otherwise empty. */
export type ServiceKey = {
  readonly keyId: string
  readonly publicKey: string
  readonly content: string
}

const serviceKeyKind = {
  noun: "key",
  holder: "a service account",
  errorIds: { expired: "user.key_expired", tooMany: "user.too_many_keys" },
} as const satisfies CredentialKind

/**
 * Generates an RSA 2048 key pair and its key file. The private key is not stored and is only
 * returned here.
 */
export async function createServiceKey(cx: Pick<Cx, "ids">, userId: string): Promise<ServiceKey> {
  const { publicKey, privateKey: key } = await createSigningPair()
  const keyId = cx.ids.next()
  const content = JSON.stringify({ type: "serviceaccount", keyId, key, userId })
  return { keyId, publicKey, content }
}

/** Imports a public key in PEM. Rejects private and weak keys. */
export const importServiceKey = (cx: Pick<Cx, "ids">, pem: string): ServiceKey => ({
  keyId: cx.ids.next(),
  publicKey: importPublicKey(pem),
  content: "",
})

type AddKeyInput = Omit<ServiceKey, "content"> & { readonly expires: number }

/** Registers a key that is valid until `expires`. */
export const addServiceKey = user.command<AddKeyInput>(
  (state, { keyId, publicKey, expires }, { now }) => {
    const present = requireExists(state)
    if (present.kind !== "machine") {
      throw new Fault(
        "failed_precondition",
        "user.not_machine",
        "only service accounts have keys; human users sign in",
      )
    }
    const count = Object.keys(present.keys).length
    const data = {
      keyId,
      publicKey,
      expires: requireExpiry(serviceKeyKind, { expires, now, count }),
    }
    return [{ type: "user.machine.key.added", data }]
  },
)

/** Removes a key and invalidates what it signs. Returns undefined if it doesn't exist. */
export const removeServiceKey = createRemoval(user)<string>((state, keyId, tx, userId) => {
  const present = requireExists(state)
  if (present.kind !== "machine" || !Object.hasOwn(present.keys, keyId)) return undefined
  const { [keyId]: _, ...keys } = present.keys
  requireOtherOwner(tx, userId, { ...present, keys })
  return { type: "user.machine.key.removed", data: { keyId } }
})
