import { expect, test } from "vitest"
import { changedFiles, testsFor } from "../../scripts/changed.ts"

test("a changed source file selects the tests that import it, the closest first", async () => {
  const { unit, others } = await testsFor(["src/kernel/limit.ts"])
  expect(unit[0]).toBe("test/tidy.test.ts")
  expect(unit.slice(0, 20)).toContain("test/kernel/limit.test.ts")
  // Through the modules between them.
  expect(unit).toContain("test/oauth/refresh.test.ts")
  expect(unit).not.toContain("test/kernel/name.test.ts")
  expect(others).toEqual([])
})

test("a changed test selects itself, unless it needs the binary", async () => {
  const changed = ["test/kernel/name.test.ts", "test/e2e/consent.test.ts"]
  expect(await testsFor(changed)).toEqual({
    unit: ["test/tidy.test.ts", "test/kernel/name.test.ts"],
    others: ["test/e2e/consent.test.ts"],
  })
})

test("a changed .proto selects the contract tests, which read it", async () => {
  const { unit } = await testsFor(["proto/core/options.proto"])
  expect(unit.some((path) => path.startsWith("test/contract/"))).toBe(true)
})

test("an unknown revision is an error, not an empty change", async () => {
  await expect(changedFiles("no-such-revision")).rejects.toThrow(/no-such-revision/)
})
