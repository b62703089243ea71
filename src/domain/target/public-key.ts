import { createPublicKey, hash, type KeyObject } from "node:crypto"
import { Fault, fieldError } from "../../kernel/fault.ts"
import type { Cx, Draft } from "../../store/index.ts"
import { removalFrom } from "../family/index.ts"
import { mustExist } from "./commands.ts"
import { type PublicKey, type Target, type TargetEvent, target } from "./model.ts"

const keysMax = 20
const bytesMax = 8192
const curves = ["prime256v1", "secp384r1", "secp521r1"]
const rsaBitsMin = 2048

type Adding = { readonly bytes: Uint8Array; readonly expires: number }

/** Adds a key to a target; nothing is encrypted with it until it is activated. */
export async function addPublicKey(cx: Cx, id: string, { bytes, expires }: Adding) {
  const { pem, fingerprint } = readKey(bytes)
  const keyId = cx.ids.next()
  const step = await cx.store.transact(cx, (tx) => {
    const state = tx.state(target, id)
    mustExist(state)
    if (expires !== 0 && expires <= tx.now) {
      throw fieldError("target.key_expired", "expiration_date", "must be to come")
    }
    if (Object.keys(state.keys).length >= keysMax) {
      const words = `the target has ${keysMax} keys already; remove one first`
      throw new Fault("resource_exhausted", "target.too_many_keys", words)
    }
    const data = { keyId, pem, fingerprint, expires }
    const added: Draft<TargetEvent> = { type: "target.public_key.added", data }
    tx.append(target, id, [added])
  })
  return { keyId, created: step.receipt(target, id).changed }
}

type Turning = { readonly keyId: string; readonly active: boolean }

/** Has what is sent encrypted with this key and no other, or with it no longer. */
export async function turnPublicKey(cx: Cx, id: string, { keyId, active }: Turning) {
  const step = await cx.store.transact(cx, (tx) => {
    const state = tx.state(target, id)
    const key = keyIn(state, keyId)
    if (active && isOver(key, tx.now)) {
      const words = "the key has expired; add another one"
      throw new Fault("failed_precondition", "target.key_expired", words)
    }
    if (key.active === active) return
    const others = Object.entries(state.keys).filter(
      ([other, each]) => each.active && other !== keyId,
    )
    const drafts: readonly Draft<TargetEvent>[] = active
      ? [
          ...others.map(([other]) => offOf(other)),
          { type: "target.public_key.activated", data: { keyId } },
        ]
      : [offOf(keyId)]
    tx.append(target, id, drafts)
  })
  return keyIn(cx.store.state(cx, target, step.receipt(target, id).id), keyId).changed
}

const offOf = (keyId: string): Draft<TargetEvent> => ({
  type: "target.public_key.deactivated",
  data: { keyId },
})

/** Removes a key that is not active; undefined where there is none. */
export const removePublicKey = removalFrom(target)<string>((state, keyId) => {
  mustExist(state)
  const key = heldIn(state, keyId)
  if (!key) return undefined
  if (key.active) {
    const words = "the key is active; activate another one, or deactivate it, first"
    throw new Fault("failed_precondition", "target.key_active", words)
  }
  return { type: "target.public_key.removed", data: { keyId } }
})

function keyIn(state: Target, keyId: string): PublicKey {
  mustExist(state)
  const key = heldIn(state, keyId)
  if (key) return key
  throw new Fault("not_found", "target.key_missing", "the target has no such key")
}

/** What every object has by names of its own is no key. */
const heldIn = ({ keys }: Target, keyId: string): PublicKey | undefined =>
  Object.hasOwn(keys, keyId) ? keys[keyId] : undefined

const isOver = ({ expires }: PublicKey, now: number): boolean => expires !== 0 && expires <= now

/** What is sent now is encrypted with this one; undefined where there is none. */
export function keyInUse({ keys }: Target, now: number) {
  const found = Object.entries(keys).find(([, key]) => key.active && !isOver(key, now))
  return found && { keyId: found[0], pem: found[1].pem }
}

/** A key in the one form that is kept. */
function readKey(bytes: Uint8Array): Pick<PublicKey, "pem" | "fingerprint"> {
  const key = bytes.byteLength > bytesMax ? undefined : publicKeyIn(Buffer.from(bytes).toString())
  if (!key || !isUsable(key)) {
    throw fieldError(
      "target.key_unusable",
      "public_key",
      `must be the PEM of a public key, RSA of ${rsaBitsMin} bits or more, or EC on P-256, P-384 ` +
        `or P-521; at most ${bytesMax} bytes`,
    )
  }
  const der = key.export({ type: "spki", format: "der" })
  return {
    pem: key.export({ type: "spki", format: "pem" }).toString(),
    fingerprint: `SHA256:${hash("sha256", der, "base64").replace(/=+$/, "")}`,
  }
}

/** A private key has a public half, too, but nobody hands it out on purpose. */
function publicKeyIn(pem: string): KeyObject | undefined {
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
