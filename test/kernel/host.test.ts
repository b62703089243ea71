import { expect, test } from "vitest"
import { hostName, normalizeHost, normalizeOrigin } from "../../src/kernel/net/host.ts"

test.each([
  ["id.example.com", "id.example.com"],
  ["ID.Example.com", "id.example.com"],
  ["id.example.com.", "id.example.com"],
  ["id.example.com:443", "id.example.com"],
  ["id.example.com.:443", "id.example.com"],
  ["id.example.com:80", "id.example.com:80"],
  ["id.example.com.:8443", "id.example.com:8443"],
  ["id.example.com..", "id.example.com."],
  ["127.0.0.1:443", "127.0.0.1"],
  ["[::1]:8443", "[::1]:8443"],
  ["[::1]", "[::1]"],
])("%s is the host %s of https (RFC 9110 §4.2.3)", (host, plain) => {
  expect(normalizeHost(host, "https:")).toBe(plain)
  expect(hostName(host)).toBe(plain.replace(/:\d+$/, ""))
})

test("another scheme's default port is another host", () => {
  expect(normalizeHost("id.example.com:80", "http:")).toBe("id.example.com")
  expect(normalizeHost("id.example.com:443", "http:")).toBe("id.example.com:443")
})

test("an origin has one normalized form", () => {
  for (const same of ["https://ID.example.com.", "https://id.example.com:443/a?b"]) {
    expect(normalizeOrigin(same)).toBe("https://id.example.com")
  }
  expect(normalizeOrigin("https://id.example.com.:8443")).toBe("https://id.example.com:8443")
  for (const none of ["null", "id.example.com", "app://id.example.com", ""]) {
    expect(normalizeOrigin(none)).toBeUndefined()
  }
})
