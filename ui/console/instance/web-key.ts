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

/** The kinds of key that are offered, by what they are called. */
export const kinds = {
  "RS256 · RSA 2048": rsa(rsa2048, sha256),
  "RS256 · RSA 4096": rsa(rsa4096, sha256),
  "RS384 · RSA 3072": rsa(rsa3072, sha384),
  "RS512 · RSA 4096": rsa(rsa4096, sha512),
  "ES256 · P-256": ecdsa(ECDSACurve.ECDSA_CURVE_P256),
  "ES384 · P-384": ecdsa(ECDSACurve.ECDSA_CURVE_P384),
  // The interface says P512 where it means P-521.
  "ES512 · P-521": ecdsa(ECDSACurve.ECDSA_CURVE_P512),
  "EdDSA · Ed25519": { case: "ed25519", value: {} },
} as const
export type KindName = keyof typeof kinds

export const kindNames = namesIn(kinds)

const hashes: Readonly<Record<number, string>> = {
  [sha256]: "256",
  [sha384]: "384",
  [sha512]: "512",
}
const sizes: Readonly<Record<number, string>> = {
  [rsa2048]: "2048",
  [rsa3072]: "3072",
  [rsa4096]: "4096",
}
const curves: Readonly<Record<number, string>> = {
  [ECDSACurve.ECDSA_CURVE_P256]: "ES256 · P-256",
  [ECDSACurve.ECDSA_CURVE_P384]: "ES384 · P-384",
  [ECDSACurve.ECDSA_CURVE_P512]: "ES512 · P-521",
}

/** The algorithm of a key and what it is made of. */
export function kindOf({ key }: WebKey): string {
  if (key.case === "rsa") return `RS${hashes[key.value.hasher]} · RSA ${sizes[key.value.bits]}`
  if (key.case === "ecdsa") return curves[key.value.curve] ?? "ECDSA"
  return "EdDSA · Ed25519"
}

export type KeyState = "active" | "next" | "retired"

export function stateOf({ state }: WebKey): KeyState {
  if (state === State.ACTIVE) return "active"
  return state === State.INITIAL ? "next" : "retired"
}

/** When its successor takes over; undefined for a key that does not sign, or rotates by hand. */
export function turnOf(key: WebKey, settings: OIDCSettings | undefined): Timestamp | undefined {
  const rotation = settings?.keyRotation
  if (key.state !== State.ACTIVE || !rotation?.enabled || !rotation.period || !key.changeDate) {
    return undefined
  }
  return timestampFromMs(timestampMs(key.changeDate) + durationMs(rotation.period))
}
