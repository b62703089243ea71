import { createPublicKey, hash, type KeyObject } from "node:crypto"
import { Fault, fieldError } from "../../kernel/fault.ts"
import type { Cx, Draft } from "../../store/index.ts"
import { createRemoval } from "../family/index.ts"
import { requireExists } from "./commands.ts"
import { type PublicKey, type Target, type TargetEvent, target } from "./model.ts"

const keysMax = 20
const bytesMax = 8192
const curves = ["prime256v1", "secp384r1", "secp521r1"]
const rsaBitsMin = 2048

type NewKey = { readonly bytes: Uint8Array; readonly expires: number }

/** Adds a key to a target; it is not used until it is activated. */
export async function addPublicKey(cx: Cx, id: string, { bytes, expires }: NewKey) {
  const { pem, fingerprint } = parseKey(bytes)
  const keyId = cx.ids.next()
  const step = await cx.store.transact(cx, (tx) => {
    const state = tx.state(target, id)
    requireExists(state)
    if (expires !== 0 && expires <= tx.now) {
      throw fieldError("target.key_expired", "expiration_date", "must be in the future")
    }
    if (Object.keys(state.keys).length >= keysMax) {
      const message = `the target can have at most ${keysMax} keys; delete one first`
      throw new Fault("resource_exhausted", "target.too_many_keys", message)
    }
    const data = { keyId, pem, fingerprint, expires }
    const added: Draft<TargetEvent> = { type: "target.public_key.added", data }
    tx.append(target, id, [added])
  })
  return { keyId, created: step.receipt(target, id).changed }
}

type KeyActivation = { readonly keyId: string; readonly active: boolean }

/** Activates a key, which deactivates the others, or deactivates it. */
export async function setPublicKeyActive(cx: Cx, id: string, { keyId, active }: KeyActivation) {
  const step = await cx.store.transact(cx, (tx) => {
    const state = tx.state(target, id)
    const key = requireKey(state, keyId)
    if (active && hasExpired(key, tx.now)) {
      const message = "the key has expired; add another one"
      throw new Fault("failed_precondition", "target.key_expired", message)
    }
    if (key.active === active) return
    const others = Object.entries(state.keys).filter(
      ([other, each]) => each.active && other !== keyId,
    )
    const drafts: readonly Draft<TargetEvent>[] = active
      ? [
          ...others.map(([other]) => deactivatedEvent(other)),
          { type: "target.public_key.activated", data: { keyId } },
        ]
      : [deactivatedEvent(keyId)]
    tx.append(target, id, drafts)
  })
  return requireKey(cx.store.state(cx, target, step.receipt(target, id).id), keyId).changed
}

const deactivatedEvent = (keyId: string): Draft<TargetEvent> => ({
  type: "target.public_key.deactivated",
  data: { keyId },
})

/** Deletes an inactive key; undefined if it does not exist. */
export const removePublicKey = createRemoval(target)<string>((state, keyId) => {
  requireExists(state)
  const key = findKey(state, keyId)
  if (!key) return undefined
  if (key.active) {
    const message = "the key is active; deactivate it or activate another one first"
    throw new Fault("failed_precondition", "target.key_active", message)
  }
  return { type: "target.public_key.removed", data: { keyId } }
})

function requireKey(state: Target, keyId: string): PublicKey {
  requireExists(state)
  const key = findKey(state, keyId)
  if (key) return key
  throw new Fault("not_found", "target.key_missing", "key not found")
}

/** Ignores inherited object properties. */
const findKey = ({ keys }: Target, keyId: string): PublicKey | undefined =>
  Object.hasOwn(keys, keyId) ? keys[keyId] : undefined

const hasExpired = ({ expires }: PublicKey, now: number): boolean => expires !== 0 && expires <= now

/** The key that encrypts payloads; undefined if there is none. */
export function activeKeyOf({ keys }: Target, now: number) {
  const found = Object.entries(keys).find(([, key]) => key.active && !hasExpired(key, now))
  return found && { keyId: found[0], pem: found[1].pem }
}

/** Parses a key into its canonical form. */
function parseKey(bytes: Uint8Array): Pick<PublicKey, "pem" | "fingerprint"> {
  const key =
    bytes.byteLength > bytesMax ? undefined : parsePublicKey(Buffer.from(bytes).toString())
  if (!key || !isUsable(key)) {
    throw fieldError(
      "target.key_unusable",
      "public_key",
      `must be a public key in PEM format, RSA with at least ${rsaBitsMin} bits, or EC ` +
        `with P-256, P-384 or P-521; at most ${bytesMax} bytes`,
    )
  }
  const der = key.export({ type: "spki", format: "der" })
  return {
    pem: key.export({ type: "spki", format: "pem" }).toString(),
    fingerprint: `SHA256:${hash("sha256", der, "base64").replace(/=+$/, "")}`,
  }
}

/**
 * Rejects a private key, from which a public key could be derived, because it was sent by mistake.
 */
function parsePublicKey(pem: string): KeyObject | undefined {
  if (!/^\s*-----BEGIN (RSA )?PUBLIC KEY-----/.test(pem)) return undefined
  try {
    return createPublicKey(pem)
  } catch (cause) {
    if (cause instanceof Error) return undefined
    throw cause
  }
}

function isUsable({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): boolean {
  const { modulusLength = 0, namedCurve = "" } = asymmetricKeyDetails ?? {}
  if (asymmetricKeyType === "rsa") return modulusLength >= rsaBitsMin
  return asymmetricKeyType === "ec" && curves.includes(namedCurve)
}
