import { expect, it } from "vitest"
import {
  addressOf,
  createMatcher,
  formatAddress,
  isEveryAddress,
  localOrigin,
  parseRange,
} from "../../src/kernel/net/address.ts"
import { listLanAddresses } from "../../src/runtime/lan-addresses.ts"

it("formats an address as it parses it", () => {
  for (const text of ["127.0.0.1:8080", "[::1]:0", "id.example.com:443"]) {
    const address = addressOf(text)
    expect(address && formatAddress(address)).toBe(text)
  }
})

it("displays an address that browsers can open", () => {
  expect(localOrigin({ host: "0.0.0.0", port: 8080 })).toBe("http://localhost:8080")
  expect(localOrigin({ host: "::1", port: 80 })).toBe("http://localhost")
  expect(localOrigin({ host: "10.0.0.5", port: 8080 })).toBe("http://10.0.0.5:8080")
})

it("matches an address against ranges in any spelling", () => {
  const ranges = ["10.0.0.0/8", "192.168.1.7", "fd00::/8"].flatMap((text) => parseRange(text) ?? [])
  const matches = createMatcher(ranges)
  for (const inside of ["10.1.2.3", "::ffff:10.1.2.3", "192.168.1.7", "fd12::1"]) {
    expect(matches(inside)).toBe(true)
  }
  for (const outside of ["11.0.0.1", "192.168.1.8", "fe80::1", "::ffff:11.0.0.1", "", "10.0.0"]) {
    expect(matches(outside)).toBe(false)
  }
})

it("lists the addresses at which other machines reach this one", () => {
  const ipv4 = { netmask: "", mac: "", cidr: null, family: "IPv4", internal: false } as const
  const ipv6 = { ...ipv4, family: "IPv6", scopeid: 0 } as const
  const found = listLanAddresses({
    lo: [{ ...ipv4, address: "127.0.0.1", internal: true }],
    eth0: [
      { ...ipv4, address: "192.0.2.7" },
      { ...ipv6, address: "2001:db8::7" },
      { ...ipv4, address: "169.254.1.1" },
    ],
    docker0: [{ ...ipv4, address: "172.17.0.1" }],
    "br-12ab": [{ ...ipv4, address: "172.18.0.1" }],
    enp3s0: [{ ...ipv4, address: "198.51.100.7" }],
  })
  expect(found).toEqual(["192.0.2.7", "198.51.100.7"])
  expect(["0.0.0.0", "::", "127.0.0.1", "192.0.2.7"].map(isEveryAddress)).toEqual([
    true,
    true,
    false,
    false,
  ])
})
