import { expect, it } from "vitest"
import { systemRandom } from "../../src/kernel/crypto/random.ts"
import {
  createDataKey,
  type DataKeyRow,
  fingerprint,
  matchesAny,
  purposes,
  rewrap,
  secretsOf,
} from "../../src/kernel/crypto/secret.ts"
import { Fault } from "../../src/kernel/fault.ts"

const masterKey = systemRandom.bytes(32)
const rows = (): DataKeyRow[] =>
  purposes.map((purpose) => ({ ...createDataKey(systemRandom, masterKey, purpose), active: true }))
const stored = rows()
const secrets = secretsOf(systemRandom, masterKey, stored)

it("decrypts what it encrypted, whatever the text", () => {
  for (const plain of ["", "a", "pässwörd 🔑", "x".repeat(5000)]) {
    const sealed = secrets.seal("seal", plain, "user 1")
    expect(secrets.open("seal", sealed, "user 1")).toBe(plain)
  }
  expect(secrets.seal("seal", "a", "b")).not.toBe(secrets.seal("seal", "a", "b"))
})

it("rejects another purpose and another context", () => {
  const sealed = secrets.seal("token", "secret", "user 1")
  expect(secrets.open("cookie", sealed, "user 1")).toBeUndefined()
  expect(secrets.open("token", sealed, "user 2")).toBeUndefined()
})

it("rejects every change of a single character", () => {
  const sealed = secrets.seal("token", "secret", "a")
  for (let index = 0; index < sealed.length; index++) {
    for (const other of ["A", "B", "-", "=", ".", " ", "+", "\n", "é"]) {
      const changed = sealed.slice(0, index) + other + sealed.slice(index + 1)
      if (changed !== sealed) expect(secrets.open("token", changed, "a")).toBeUndefined()
    }
  }
})

it("rejects truncated, extended, padded, and re-encoded values", () => {
  const sealed = secrets.seal("token", "secret!", "a")
  for (let length = 0; length < sealed.length; length++) {
    expect(secrets.open("token", sealed.slice(0, length), "a")).toBeUndefined()
  }
  for (const more of ["A", "AA", "AAAA", "=", "==", ".", " ", "\n", "\0"]) {
    expect(secrets.open("token", sealed + more, "a")).toBeUndefined()
    expect(secrets.open("token", more + sealed, "a")).toBeUndefined()
  }
  // 24 + 7 + 16 bytes leave unused bits in the last character, which decoders tend to ignore.
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
  const body = sealed.slice(0, -1)
  const accepted = [...alphabet].filter((last) => secrets.open("token", body + last, "a"))
  expect(accepted).toEqual([sealed.at(-1)])
})

it("has different hashes for different texts and contexts", () => {
  const hashed = secrets.hash("bc", "a")
  expect(secrets.hash("bc", "a")).toBe(hashed)
  expect(secrets.matches(hashed, "bc", "a")).toBe(true)
  expect(secrets.hash("c", "ab")).not.toBe(hashed)
  expect(secrets.matches(hashed, "bd", "a")).toBe(false)
  expect(secrets.matches(hashed, "bc", "b")).toBe(false)
  expect(secrets.matches(`${hashed}=`, "bc", "a")).toBe(false)
  expect(secrets.matches("", "bc", "a")).toBe(false)
})

it("decrypts old values after a key was replaced, and encrypts with the new key", () => {
  const old = stored.map((row) => ({ ...row, active: false }))
  const rotated = secretsOf(systemRandom, masterKey, [...old, ...rows()])
  const sealed = secrets.seal("seal", "kept", "a")
  const hashed = secrets.hash("kept", "a")
  expect(rotated.open("seal", sealed, "a")).toBe("kept")
  expect(rotated.matches(hashed, "kept", "a")).toBe(true)
  expect(secrets.open("seal", rotated.seal("seal", "new", "a"), "a")).toBeUndefined()
  expect(rotated.hash("kept", "a")).not.toBe(hashed)
})

it("replaces the master key without changing any value", () => {
  const next = systemRandom.bytes(32)
  const sealed = secrets.seal("seal", "kept", "a")
  const wrapped = rewrap(systemRandom, masterKey, next, stored)
  expect(secretsOf(systemRandom, next, wrapped).open("seal", sealed, "a")).toBe("kept")
  expect(() => secretsOf(systemRandom, masterKey, wrapped)).toThrow(Fault)
})

it(
  "rejects a wrong master key, a foreign row, and more or less than one active key for a " +
    "purpose",
  () => {
    const other = systemRandom.bytes(32)
    expect(() => secretsOf(systemRandom, other, stored)).toThrow(
      /master key can't decrypt the keys/,
    )
    const [first, second, ...rest] = stored
    if (!first || !second) throw new Error("two rows are needed")
    const swapped = [{ ...first, wrapped: second.wrapped }, second, ...rest]
    expect(() => secretsOf(systemRandom, masterKey, swapped)).toThrow(
      /master key can't decrypt the keys/,
    )
    expect(() => secretsOf(systemRandom, masterKey, rest)).toThrow(/exactly one active/)
    expect(() => secretsOf(systemRandom, masterKey, [...stored, ...rows()])).toThrow(/exactly one/)
  },
)

it("distinguishes master keys by fingerprint", () => {
  expect(fingerprint(masterKey)).toBe(fingerprint(Uint8Array.from(masterKey)))
  expect(fingerprint(masterKey)).not.toBe(fingerprint(systemRandom.bytes(32)))
})

it("finds a secret among several hashes, and none if there is none", () => {
  const about = "client 1"
  const hashes = ["a", "b", "c"].map((plain) => secrets.hash(plain, about))
  for (const plain of ["a", "b", "c"]) {
    expect(matchesAny(secrets, hashes, { plain, about })).toBe(true)
    expect(matchesAny(secrets, hashes, { plain, about: "client 2" })).toBe(false)
    expect(matchesAny(secrets, [], { plain, about })).toBe(false)
  }
  for (const plain of ["", "d", "ab", hashes[0] ?? ""]) {
    expect(matchesAny(secrets, hashes, { plain, about })).toBe(false)
  }
  expect(matchesAny(secrets, [""], { plain: "", about })).toBe(false)
})
