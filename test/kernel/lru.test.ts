import { expect, test } from "vitest"
import { lru } from "../../src/kernel/lru.ts"

test("the last used entries are kept, at most twice as many as the limit", () => {
  const kept = lru<number>(10)
  for (let each = 0; each < 1000; each++) {
    kept.set(`${each}`, each)
    expect(kept.get("0")).toBe(0)
  }
  const there = Array.from({ length: 1000 }, (_, each) => kept.get(`${each}`))
  expect(there.slice(-9)).toEqual([991, 992, 993, 994, 995, 996, 997, 998, 999])
  expect(there.filter((each) => each !== undefined).length).toBeLessThanOrEqual(20)
})

test("deleted entries are gone, and replaced ones have the new value", () => {
  const kept = lru<string>(2)
  for (const key of ["a", "b", "c"]) kept.set(key, "old")
  kept.set("a", "new")
  expect(kept.get("a")).toBe("new")
  kept.delete("a")
  expect(kept.get("a")).toBeUndefined()
})
