import { expect, test } from "vitest"
import { originOf } from "../../src/http/origin.ts"
import { manualClock } from "../../src/kernel/clock.ts"
import { createIds } from "../../src/kernel/id.ts"
import { createMatcher, parseRange } from "../../src/kernel/net/address.ts"

const ids = createIds(manualClock(1_700_000_000_000))
const originWithProxies = (...proxies: readonly string[]) => {
  const isProxy = createMatcher(proxies.flatMap((text) => parseRange(text) ?? []))
  return (peer: string, headers: Record<string, string> = {}) =>
    originOf({ ids, isProxy }, new Request("http://localhost/", { headers }), () => peer)
}
const summaryOf = (origin: ReturnType<typeof originOf>) => [origin.address, origin.isRelayed]
const forwardedFor = (chain: string) => ({ "x-forwarded-for": chain })

test("without trusted proxies the address is that of the socket, whatever a header contains", () => {
  const from = originWithProxies()
  expect(summaryOf(from("198.51.100.7"))).toEqual(["198.51.100.7", false])
  expect(summaryOf(from("198.51.100.7", forwardedFor("203.0.113.1")))).toEqual([
    "198.51.100.7",
    true,
  ])
  expect(summaryOf(from("127.0.0.1", { forwarded: "for=203.0.113.1" }))).toEqual([
    "127.0.0.1",
    true,
  ])
})

test("through trusted proxies it is the nearest address that is not a proxy", () => {
  const from = originWithProxies("127.0.0.1", "10.0.0.0/8")
  const chains = [
    ["203.0.113.1", "203.0.113.1"],
    ["203.0.113.1, 10.1.2.3", "203.0.113.1"],
    ["6.6.6.6, 203.0.113.1, 10.1.2.3", "203.0.113.1"],
    [" 203.0.113.1 ,, ", "203.0.113.1"],
    ["10.9.9.9, 10.1.2.3", "10.9.9.9"],
    ["", "127.0.0.1"],
  ] as const
  for (const [chain, address] of chains) {
    expect(summaryOf(from("127.0.0.1", forwardedFor(chain))), chain).toEqual([address, false])
  }
  expect(summaryOf(from("127.0.0.1"))).toEqual(["127.0.0.1", false])
})

test("an untrusted sender who names a proxy in the header is not a proxy", () => {
  const from = originWithProxies("10.0.0.0/8")
  expect(summaryOf(from("198.51.100.7", forwardedFor("203.0.113.1, 10.1.2.3")))).toEqual([
    "198.51.100.7",
    true,
  ])
})

test("the source of an address is the connection, a trusted proxy or an untrusted proxy", () => {
  const from = originWithProxies("10.0.0.0/8")
  const source = (peer: string, headers = {}) => from(peer, headers).addressSource
  expect(source("203.0.113.1")).toBe("connection")
  expect(source("10.0.0.1")).toBe("connection")
  expect(source("10.0.0.1", forwardedFor(" , "))).toBe("connection")
  expect(source("10.0.0.1", forwardedFor("203.0.113.1"))).toBe("trusted proxy")
  expect(source("172.18.0.2", forwardedFor("203.0.113.1"))).toBe("unknown proxy")
  expect(source("10.0.0.1", { forwarded: "for=203.0.113.1" })).toBe("unknown proxy")
})
