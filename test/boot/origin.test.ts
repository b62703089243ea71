import { expect, test } from "vitest"
import { originOf } from "../../src/http/origin.ts"
import { manualClock } from "../../src/kernel/clock.ts"
import { idsOf } from "../../src/kernel/id.ts"
import { matcherOf, rangeOf } from "../../src/kernel/net/address.ts"

const ids = idsOf(manualClock(1_700_000_000_000))
const trusting = (...proxies: readonly string[]) => {
  const isProxy = matcherOf(proxies.flatMap((text) => rangeOf(text) ?? []))
  return (peer: string, headers: Record<string, string> = {}) =>
    originOf({ ids, isProxy }, new Request("http://localhost/", { headers }), () => peer)
}
const seen = (origin: ReturnType<typeof originOf>) => [origin.address, origin.isRelayed]
const via = (chain: string) => ({ "x-forwarded-for": chain })

test("without trusted proxies the address is the socket's, whatever a header says", () => {
  const from = trusting()
  expect(seen(from("198.51.100.7"))).toEqual(["198.51.100.7", false])
  expect(seen(from("198.51.100.7", via("203.0.113.1")))).toEqual(["198.51.100.7", true])
  expect(seen(from("127.0.0.1", { forwarded: "for=203.0.113.1" }))).toEqual(["127.0.0.1", true])
})

test("through trusted proxies it is the nearest that is none of them", () => {
  const from = trusting("127.0.0.1", "10.0.0.0/8")
  const chains = [
    ["203.0.113.1", "203.0.113.1"],
    ["203.0.113.1, 10.1.2.3", "203.0.113.1"],
    ["6.6.6.6, 203.0.113.1, 10.1.2.3", "203.0.113.1"],
    [" 203.0.113.1 ,, ", "203.0.113.1"],
    ["10.9.9.9, 10.1.2.3", "10.9.9.9"],
    ["", "127.0.0.1"],
  ] as const
  for (const [chain, address] of chains) {
    expect(seen(from("127.0.0.1", via(chain))), chain).toEqual([address, false])
  }
  expect(seen(from("127.0.0.1"))).toEqual(["127.0.0.1", false])
})

test("a stranger who names a proxy in the header is no proxy", () => {
  const from = trusting("10.0.0.0/8")
  expect(seen(from("198.51.100.7", via("203.0.113.1, 10.1.2.3")))).toEqual(["198.51.100.7", true])
})

test("what an address is known by: the connection, a trusted proxy, or a proxy's own", () => {
  const from = trusting("10.0.0.0/8")
  const source = (peer: string, headers = {}) => from(peer, headers).addressSource
  expect(source("203.0.113.1")).toBe("connection")
  expect(source("10.0.0.1")).toBe("connection")
  expect(source("10.0.0.1", via(" , "))).toBe("connection")
  expect(source("10.0.0.1", via("203.0.113.1"))).toBe("trusted proxy")
  expect(source("172.18.0.2", via("203.0.113.1"))).toBe("unknown proxy")
  expect(source("10.0.0.1", { forwarded: "for=203.0.113.1" })).toBe("unknown proxy")
})
