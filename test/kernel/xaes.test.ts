import { expect, it } from "vitest"
import { createXaes } from "../../src/kernel/crypto/xaes.ts"

const nonce = Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWX")
const plain = Buffer.from("XAES-256-GCM")

it("matches the test vectors of the XAES-256-GCM specification", () => {
  const first = createXaes(new Uint8Array(32).fill(1)).encrypt(nonce, plain, "")
  expect(first.subarray(24).toString("hex")).toBe(
    "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271",
  )
  const second = createXaes(new Uint8Array(32).fill(3)).encrypt(
    nonce,
    plain,
    "c2sp.org/XAES-256-GCM",
  )
  expect(second.subarray(24).toString("hex")).toBe(
    "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d",
  )
})

it("decrypts only with the same key and context", () => {
  const cipher = createXaes(new Uint8Array(32).fill(1))
  const box = cipher.encrypt(nonce, plain, "about")
  expect(cipher.decrypt(box, "about")?.toString()).toBe("XAES-256-GCM")
  expect(cipher.decrypt(box, "another")).toBeUndefined()
  expect(createXaes(new Uint8Array(32).fill(2)).decrypt(box, "about")).toBeUndefined()
  expect(cipher.decrypt(box.subarray(0, 39), "about")).toBeUndefined()
})
