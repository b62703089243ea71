import { describe, expect, test } from "vitest"
import { manualClock } from "../../src/kernel/clock.ts"
import { Fault } from "../../src/kernel/fault.ts"
import { type Allowance, type Budget, budgets, createLimits } from "../../src/kernel/limit.ts"
import { isLocalNetwork, isLoopback, networkOf } from "../../src/kernel/net/address.ts"

const start = 1_700_000_000_000
const world = (factor = 1, places?: number) => {
  const clock = manualClock(start)
  return { clock, limits: createLimits(clock, factor, places) }
}

/** The number of permitted requests of an address at this time. */
function permittedCount(allowance: Allowance, budget: Budget, most = 10_000): number {
  for (let count = 0; count < most; count++) {
    try {
      allowance.spend(budget)
    } catch (cause) {
      if (cause instanceof Fault) return count
      throw cause
    }
  }
  return most
}

const foreign = { address: "198.51.100.7" }

describe("a budget", () => {
  test.each(Object.keys(budgets) as Budget[])("%s is used up and refills evenly", (budget) => {
    const { clock, limits } = world()
    const { atOnce, perMinute } = budgets[budget]
    expect(permittedCount(limits(foreign), budget)).toBe(atOnce)
    clock.advance(60_000 / perMinute - 1)
    expect(permittedCount(limits(foreign), budget)).toBe(0)
    clock.advance(1)
    expect(permittedCount(limits(foreign), budget)).toBe(1)
    clock.advance(60_000)
    expect(permittedCount(limits(foreign), budget)).toBe(Math.min(perMinute, atOnce))
    clock.advance(24 * 3_600_000)
    expect(permittedCount(limits(foreign), budget)).toBe(atOnce)
  })

  test("returns the time until the next permitted attempt", () => {
    const { clock, limits } = world()
    permittedCount(limits(foreign), "guess")
    const refused = () => limits(foreign).spend("guess")
    expect(refused).toThrow(/too many failed tries from this address; try again in 1 s/)
    try {
      refused()
    } catch (cause) {
      const expected = { code: "resource_exhausted", id: "limit.guess", retryAfterSeconds: 1 }
      expect(cause).toMatchObject(expected)
    }
    clock.advance(1000)
    expect(refused).not.toThrow()
  })

  test("is refunded for successful attempts, and never exceeds its size", () => {
    const { limits } = world()
    const { atOnce } = budgets.guess
    for (let count = 0; count < 5 * atOnce; count++) {
      limits(foreign).spend("guess")
      limits(foreign).refund("guess")
    }
    for (let count = 0; count < 50; count++) limits(foreign).refund("guess")
    expect(permittedCount(limits(foreign), "guess")).toBe(atOnce)
  })

  test("is separate for each address and purpose", () => {
    const { limits } = world()
    permittedCount(limits(foreign), "guess")
    expect(permittedCount(limits({ address: "198.51.100.8" }), "guess", 5)).toBe(5)
    expect(permittedCount(limits(foreign), "request", 5)).toBe(5)
  })

  test("locks no one out when the clock goes back", () => {
    const { clock, limits } = world()
    permittedCount(limits(foreign), "guess")
    clock.advance(-7 * 86_400_000)
    expect(permittedCount(limits(foreign), "guess")).toBe(budgets.guess.atOnce)
  })

  test("refunds nothing when the clock is corrected by seconds", () => {
    const { clock, limits } = world()
    permittedCount(limits(foreign), "guess")
    clock.advance(-30_000)
    expect(permittedCount(limits(foreign), "guess")).toBe(0)
    clock.advance(1000)
    expect(permittedCount(limits(foreign), "guess")).toBe(1)
  })

  test("can be increased, reduced, and removed", () => {
    const { atOnce } = budgets.guess
    expect(permittedCount(world(2).limits(foreign), "guess")).toBe(2 * atOnce)
    expect(permittedCount(world(0.01).limits(foreign), "guess")).toBe(atOnce / 100)
    expect(permittedCount(world(Number.POSITIVE_INFINITY).limits(foreign), "guess", 9000)).toBe(
      9000,
    )
  })

  test("uses bounded memory for any number of addresses; the longest idle one is dropped", () => {
    const { limits } = world(1, 3)
    const from = (last: number) => limits({ address: `198.51.100.${last}` })
    for (const last of [1, 2, 3]) permittedCount(from(last), "guess")
    expect(permittedCount(from(1), "guess")).toBe(0)
    from(4).spend("guess")
    expect(permittedCount(from(1), "guess")).toBe(0)
    expect(permittedCount(from(2), "guess", 5)).toBe(5)
  })
})

describe("an IPv6 network", () => {
  const { atOnce } = budgets.guess
  const from = (...groups: readonly number[]) => ({
    address: `2001:db8:${groups.map((group) => group.toString(16)).join(":")}::1`,
  })
  /** The number of permitted requests of all /64 networks together. */
  const all = (
    limits: ReturnType<typeof world>["limits"],
    senders: readonly { address: string }[],
  ) => senders.reduce((sum, sender) => sum + permittedCount(limits(sender), "guess"), 0)
  const count = (length: number) => Array.from({ length }, (_, at) => at)

  test("of 256 /64 has four times the budget of one", () => {
    const { limits } = world()
    expect(all(limits, [from(1, 0)])).toBe(atOnce)
    expect(
      all(
        limits,
        count(255).map((at) => from(1, at + 1)),
      ),
    ).toBe(3 * atOnce)
    expect(permittedCount(limits(from(1, 0x100)), "guess")).toBe(atOnce)
  })

  test("of 65,536 /64 has sixteen times the budget of one", () => {
    const { limits } = world()
    expect(
      all(
        limits,
        count(64).map((at) => from(1, at * 0x100)),
      ),
    ).toBe(16 * atOnce)
    expect(permittedCount(limits(from(1, 0xff07)), "guess")).toBe(0)
    expect(permittedCount(limits(from(2, 0)), "guess")).toBe(atOnce)
  })

  test("is refunded for successful attempts at each prefix length", () => {
    const { limits } = world()
    for (const at of count(30 * atOnce)) {
      const allowance = limits(from(1, at % 0x100))
      allowance.spend("guess")
      allowance.refund("guess")
    }
    expect(permittedCount(limits(from(1, 1)), "guess")).toBe(atOnce)
  })

  test("uses none of its larger networks' budget once it is used up", () => {
    const { limits } = world()
    permittedCount(limits(from(1, 0)), "guess")
    for (const _ of count(10 * atOnce)) expect(permittedCount(limits(from(1, 0)), "guess")).toBe(0)
    expect(permittedCount(limits(from(1, 1)), "guess")).toBe(atOnce)
  })
})

describe("a shared address", () => {
  const wide = 10 * budgets.guess.atOnce

  test.each([
    ["this machine's own", { address: "127.0.0.1" }],
    ["this machine's own, IPv6", { address: "::1" }],
    ["a proxy's beside it", { address: "172.18.0.5", isRelayed: true }],
    ["a proxy's in its IPv6 network", { address: "fd00::5", isRelayed: true }],
  ])("%s has the large budget, and belongs to no single client", (_, sender) => {
    const { limits } = world()
    expect(permittedCount(limits(sender), "guess")).toBe(wide)
    expect(limits(sender).source()).toBeUndefined()
  })

  test.each([
    ["on the local network, without a proxy", { address: "192.168.1.9" }],
    ["on the internet, who claims to be a proxy", { ...foreign, isRelayed: true }],
  ])("is not the address of %s", (_, sender) => {
    const { limits } = world()
    expect(permittedCount(limits(sender), "guess")).toBe(budgets.guess.atOnce)
    expect(limits(sender).source()).toBe(sender.address)
  })
})

describe("addresses", () => {
  test.each([
    ["198.51.100.7", "198.51.100.7"],
    ["::ffff:198.51.100.7", "198.51.100.7"],
    ["198.51.100.7:51234", "198.51.100.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:DB8:1:2::9", "2001:db8:1:2::/64"],
    ["2001:0db8:0001:0002::", "2001:db8:1:2::/64"],
    ["[2001:db8:1:2::9]:443", "2001:db8:1:2::/64"],
    ["2001:db8::1", "2001:db8:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["64:ff9b::198.51.100.7", "64:ff9b:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["unknown", "unknown"],
    ["", ""],
  ])("%s counts as %s", (address, network) => {
    expect(networkOf(address)).toBe(network)
  })

  test("of any length use bounded memory", () => {
    expect(networkOf("x".repeat(10_000))).toHaveLength(64)
  })

  test("that are local are distinguished from public ones", () => {
    for (const address of ["127.8.8.8", "::1", "::ffff:127.0.0.1"]) {
      expect([isLoopback(address), isLocalNetwork(address)], address).toEqual([true, true])
    }
    for (const address of ["10.1.2.3", "172.31.0.1", "192.168.0.1", "fd12::1", "fe80::1"]) {
      expect([isLoopback(address), isLocalNetwork(address)], address).toEqual([false, true])
    }
    for (const address of ["172.32.0.1", "198.51.100.7", "2001:db8::1", "unknown", ""]) {
      expect([isLoopback(address), isLocalNetwork(address)], address).toEqual([false, false])
    }
  })
})
