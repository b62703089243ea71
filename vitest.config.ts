import { defineConfig } from "vitest/config"

/** Heavy groups run by themselves, one after the other: scripts/check.ts walks through them. */
export const groups = [
  {
    name: "unit",
    include: ["test/**/*.test.{ts,tsx}"],
    exclude: ["test/acceptance/**", "test/reliability/**", "test/e2e/**"],
  },
  // From here on everything runs against the compiled binary.
  { name: "acceptance", include: ["test/acceptance/**/*.test.ts"], exclude: [] },
  { name: "reliability", include: ["test/reliability/**/*.test.ts"], exclude: [] },
  { name: "e2e", include: ["test/e2e/**/*.test.ts"], exclude: [] },
]

// biome-ignore lint/style/noDefaultExport: vitest reads its configuration from the default export.
export default defineConfig({
  test: {
    // Under Bun the other pools do not start.
    pool: "threads",
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // A machine with much to do is no reason to fail: what is waited for comes, or it does not.
    expect: { poll: { timeout: 10_000 } },
    projects: groups.map((group) => ({
      extends: true as const,
      test: { ...group, fileParallelism: group.name === "unit" },
    })),
  },
})
