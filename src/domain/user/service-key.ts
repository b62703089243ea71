import { createPublicKey, generateKeyPair, type KeyObject } from "node:crypto"
import { promisify } from "node:util"
import { Fault } from "../../kernel/fault.ts"
import type { Cx, Draft, Receipt } from "../../store/index.ts"
import { existing } from "./commands.ts"
import { type UserEvent, user } from "./model.ts"

/** A key to be registered; `content` is the key file of a pair that we made, else empty. */
export type ServiceKey = {
  readonly keyId: string
  readonly publicKey: string
  readonly content: string
}

/** Where nobody says when a key ends: the last second that every format can write. */
export const never = 253_402_300_799_000

const keysMax = 100
const generate = promisify(generateKeyPair)

/**
 * Makes a pair (RSA 2048) and the file that the service user's program reads. The private half is
 * not kept: this is the only time that anybody sees it.
 */
export async function createServiceKey(cx: Pick<Cx, "ids">, userId: string): Promise<ServiceKey> {
  const { publicKey, privateKey } = await generate("rsa", { modulusLength: 2048 })
  const keyId = cx.ids.next()
  const key = privateKey.export({ format: "pem", type: "pkcs1" })
  return {
    keyId,
    publicKey: pemOf(publicKey),
    content: JSON.stringify({ type: "serviceaccount", keyId, key, userId }),
  }
}

/** Takes over a public key in PEM. Refuses private keys and keys that are too weak. */
export function importServiceKey(cx: Pick<Cx, "ids">, pem: string): ServiceKey {
  if (/PRIVATE/.test(pem)) {
    throw invalid("user.key_private", "this is a private key; keep it, and send the public one")
  }
  const key = readPublic(pem)
  if (!key || !isStrong(key)) {
    throw invalid(
      "user.key_unsupported",
      "the key must be a public key in PEM: RSA from 2048 bits, EC P-256, P-384 or P-521, " +
        "or Ed25519",
    )
  }
  return { keyId: cx.ids.next(), publicKey: pemOf(key), content: "" }
}

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
    throw invalid("user.key_expired", "the key's expiration date must lie in the future")
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
    const removed: Draft<UserEvent> = { type: "user.machine.key.removed", data: { keyId } }
    tx.append(user, userId, [removed])
    return true
  })
  return step.value ? step.receipt(user, userId) : undefined
}

const pemOf = (key: KeyObject): string => key.export({ format: "pem", type: "spki" }).toString()

/** Undefined for what is no key: that is an answer about what was sent, not an accident. */
function readPublic(pem: string): KeyObject | undefined {
  try {
    return createPublicKey({ key: pem, format: "pem" })
  } catch {
    return undefined
  }
}

function isStrong(key: KeyObject): boolean {
  const { modulusLength = 0, namedCurve = "" } = key.asymmetricKeyDetails ?? {}
  if (key.asymmetricKeyType === "rsa") return modulusLength >= 2048 && modulusLength <= 8192
  if (key.asymmetricKeyType === "ec") return curves.includes(namedCurve)
  return key.asymmetricKeyType === "ed25519"
}

const curves = ["prime256v1", "secp384r1", "secp521r1"]

const invalid = (id: string, message: string) => new Fault("invalid_argument", id, message)
