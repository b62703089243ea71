import { durationMs, type Timestamp, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt"
import type { OIDCSettings } from "../../../src/gen/core/settings/v1/settings_pb.ts"
import {
  ECDSACurve,
  RSABits,
  RSAHasher,
  State,
  type WebKey,
} from "../../../src/gen/core/webkey/v2/webkey_pb.ts"
import { namesIn } from "../form/index.ts"

const { RSA_BITS_2048: rsa2048, RSA_BITS_3072: rsa3072, RSA_BITS_4096: rsa4096 } = RSABits
const {
  RSA_HASHER_SHA256: sha256,
  RSA_HASHER_SHA384: sha384,
  RSA_HASHER_SHA512: sha512,
} = RSAHasher

const rsa = (bits: RSABits, hasher: RSAHasher) =>
  ({ case: "rsa", value: { bits, hasher } }) as const
const ecdsa = (curve: ECDSACurve) => ({ case: "ecdsa", value: { curve } }) as const

/** The available kinds of keys, by label. */
export const keyKinds = {
  "RS256 · RSA 2048": rsa(rsa2048, sha256),
  "RS256 · RSA 4096": rsa(rsa4096, sha256),
  "RS384 · RSA 3072": rsa(rsa3072, sha384),
  "RS512 · RSA 4096": rsa(rsa4096, sha512),
  "ES256 · P-256": ecdsa(ECDSACurve.ECDSA_CURVE_P256),
  "ES384 · P-384": ecdsa(ECDSACurve.ECDSA_CURVE_P384),
  // The API's P512 means P-521.
  "ES512 · P-521": ecdsa(ECDSACurve.ECDSA_CURVE_P512),
  "EdDSA · Ed25519": { case: "ed25519", value: {} },
} as const
export type KindName = keyof typeof keyKinds

export const kindNames = namesIn(keyKinds)

const hashNames: Readonly<Record<number, string>> = {
  [sha256]: "256",
  [sha384]: "384",
  [sha512]: "512",
}
const rsaSizes: Readonly<Record<number, string>> = {
  [rsa2048]: "2048",
  [rsa3072]: "3072",
  [rsa4096]: "4096",
}
const curveNames: Readonly<Record<number, string>> = {
  [ECDSACurve.ECDSA_CURVE_P256]: "ES256 · P-256",
  [ECDSACurve.ECDSA_CURVE_P384]: "ES384 · P-384",
  [ECDSACurve.ECDSA_CURVE_P512]: "ES512 · P-521",
}

/** Algorithm and size or curve of a key. */
export function keyLabel({ key }: WebKey): string {
  if (key.case === "rsa")
    return `RS${hashNames[key.value.hasher]} · RSA ${rsaSizes[key.value.bits]}`
  if (key.case === "ecdsa") return curveNames[key.value.curve] ?? "ECDSA"
  return "EdDSA · Ed25519"
}

export type KeyState = "active" | "next" | "retired"

export function stateOf({ state }: WebKey): KeyState {
  if (state === State.ACTIVE) return "active"
  return state === State.INITIAL ? "next" : "retired"
}

/**
 * When its successor becomes active; undefined for keys that don't sign or are rotated manually.
 */
export function nextRotation(
  key: WebKey,
  settings: OIDCSettings | undefined,
): Timestamp | undefined {
  const rotation = settings?.keyRotation
  if (key.state !== State.ACTIVE || !rotation?.enabled || !rotation.period || !key.changeDate) {
    return undefined
  }
  return timestampFromMs(timestampMs(key.changeDate) + durationMs(rotation.period))
}
