import { fieldError } from "../../kernel/fault.ts"
import type { KeyKind } from "./model.ts"

/** The kind of a key in both API versions, which use the same numbers. */
export type ConfigMessage =
  | { readonly case: "rsa"; readonly value: { readonly bits: number; readonly hasher: number } }
  | { readonly case: "ecdsa"; readonly value: { readonly curve: number } }
  | { readonly case: "ed25519"; readonly value: unknown }
  | { readonly case: undefined; readonly value?: undefined }

const bits = [
  [2048, 1],
  [3072, 2],
  [4096, 3],
] as const

const hashes = [
  [256, 1],
  [384, 2],
  [512, 3],
] as const

/** The API names the curve P-521 "P512". */
const curves = [
  ["P-256", 1],
  ["P-384", 2],
  ["P-521", 3],
] as const

/** Parses the kind of a new key; RSA with 2048 bits and SHA-256 if the request contains none. */
export function parseKeyKind(config: ConfigMessage): KeyKind {
  if (config.case === undefined) return { kind: "rsa", bits: 2048, hash: 256 }
  if (config.case === "ed25519") return { kind: "ed25519" }
  if (config.case === "ecdsa") {
    return { kind: "ecdsa", curve: parseEnum(curves, config.value.curve, "ecdsa.curve") }
  }
  return {
    kind: "rsa",
    bits: parseEnum(bits, config.value.bits, "rsa.bits"),
    hash: parseEnum(hashes, config.value.hasher, "rsa.hasher"),
  }
}

/** The kind of a key as a message of both API versions. */
export type ConfigInit =
  | { case: "rsa"; value: { bits: EnumNumber; hasher: EnumNumber } }
  | { case: "ecdsa"; value: { curve: EnumNumber } }
  | { case: "ed25519"; value: Record<never, never> }
type EnumNumber = 1 | 2 | 3

/** Formats the kind of a key as an API message. */
export function formatKeyKind(kind: KeyKind): ConfigInit {
  if (kind.kind === "ed25519") return { case: "ed25519", value: {} }
  if (kind.kind === "ecdsa")
    return { case: "ecdsa", value: { curve: formatEnum(curves, kind.curve) } }
  return {
    case: "rsa",
    value: { bits: formatEnum(bits, kind.bits), hasher: formatEnum(hashes, kind.hash) },
  }
}

type EnumPairs = readonly (readonly [meaning: unknown, written: EnumNumber])[]

function parseEnum<P extends EnumPairs>(pairs: P, value: unknown, field: string): P[number][0] {
  const pair = pairs.find(([, each]) => each === value)
  if (pair) return pair[0]
  throw fieldError("web_key.config_incomplete", field, "is required")
}

function formatEnum<P extends EnumPairs>(pairs: P, meaning: P[number][0]): EnumNumber {
  const pair = pairs.find(([each]) => each === meaning)
  if (!pair) throw new Error("the API has no number for this kind of key")
  return pair[1]
}
