import { fieldError } from "../../kernel/fault.ts"
import type { KeyKind } from "./model.ts"

/** How both versions of the book write the kind of a key; their numbers are the same. */
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

/** The book says P512 where it means P-521. */
const curves = [
  ["P-256", 1],
  ["P-384", 2],
  ["P-521", 3],
] as const

/** Reads the kind of a new key: RSA with 2048 bits and SHA-256 where nobody asks for one. */
export function kindOf(config: ConfigMessage): KeyKind {
  if (config.case === undefined) return { kind: "rsa", bits: 2048, hash: 256 }
  if (config.case === "ed25519") return { kind: "ed25519" }
  if (config.case === "ecdsa") {
    return { kind: "ecdsa", curve: chosen(curves, config.value.curve, "ecdsa.curve") }
  }
  return {
    kind: "rsa",
    bits: chosen(bits, config.value.bits, "rsa.bits"),
    hash: chosen(hashes, config.value.hasher, "rsa.hasher"),
  }
}

/** The kind of a key as both versions take it. */
export type WrittenConfig =
  | { case: "rsa"; value: { bits: Written; hasher: Written } }
  | { case: "ecdsa"; value: { curve: Written } }
  | { case: "ed25519"; value: Record<never, never> }
type Written = 1 | 2 | 3

/** Writes the kind of a key. */
export function configOf(kind: KeyKind): WrittenConfig {
  if (kind.kind === "ed25519") return { case: "ed25519", value: {} }
  if (kind.kind === "ecdsa") return { case: "ecdsa", value: { curve: written(curves, kind.curve) } }
  return {
    case: "rsa",
    value: { bits: written(bits, kind.bits), hasher: written(hashes, kind.hash) },
  }
}

type Pairs = readonly (readonly [meaning: unknown, written: Written])[]

function chosen<P extends Pairs>(pairs: P, value: unknown, field: string): P[number][0] {
  const pair = pairs.find(([, each]) => each === value)
  if (pair) return pair[0]
  throw fieldError("web_key.config_incomplete", field, "must be chosen")
}

function written<P extends Pairs>(pairs: P, meaning: P[number][0]): Written {
  const pair = pairs.find(([each]) => each === meaning)
  if (!pair) throw new Error("a kind of key that the book has no number for")
  return pair[1]
}
