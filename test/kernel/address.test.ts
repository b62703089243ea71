import { expect, it } from "vitest"
import {
  addressOf,
  addressText,
  localOrigin,
  matcherOf,
  rangeOf,
} from "../../src/kernel/net/address.ts"

it("writes an address the way it reads it", () => {
  for (const text of ["127.0.0.1:8080", "[::1]:0", "id.example.com:443"]) {
    const address = addressOf(text)
    expect(address && addressText(address)).toBe(text)
  }
})

it("shows people an address that their browser opens", () => {
  expect(localOrigin({ host: "0.0.0.0", port: 8080 })).toBe("http://localhost:8080")
  expect(localOrigin({ host: "::1", port: 80 })).toBe("http://localhost")
  expect(localOrigin({ host: "10.0.0.5", port: 8080 })).toBe("http://10.0.0.5:8080")
})

it("finds an address in its ranges, however the peer is written", () => {
  const ranges = ["10.0.0.0/8", "192.168.1.7", "fd00::/8"].flatMap((text) => rangeOf(text) ?? [])
  const matches = matcherOf(ranges)
  for (const inside of ["10.1.2.3", "::ffff:10.1.2.3", "192.168.1.7", "fd12::1"]) {
    expect(matches(inside)).toBe(true)
  }
  for (const outside of ["11.0.0.1", "192.168.1.8", "fe80::1", "::ffff:11.0.0.1", "", "10.0.0"]) {
    expect(matches(outside)).toBe(false)
  }
})
