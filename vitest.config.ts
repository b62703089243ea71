import { defineConfig } from "vitest/config"

/**
 * Groups run one after the other: scripts/check.ts walks through them. In one that is parallel two
 * files run at a time; what is tried beside kills, or on a busy machine, has both cores.
 */
export const groups = [
  {
    name: "unit",
    include: ["test/**/*.test.{ts,tsx}"],
    exclude: ["test/acceptance/**", "test/reliability/**", "test/e2e/**"],
    isParallel: true,
  },
  // From here on everything runs against the compiled binary.
  { name: "acceptance", include: ["test/acceptance/**/*.test.ts"], exclude: [], isParallel: true },
  {
    name: "reliability",
    include: ["test/reliability/**/*.test.ts"],
    exclude: [],
    isParallel: false,
  },
  { name: "e2e", include: ["test/e2e/**/*.test.ts"], exclude: [], isParallel: true },
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
    projects: groups.map(({ isParallel, ...group }) => ({
      extends: true as const,
      test: { ...group, fileParallelism: isParallel },
    })),
  },
})
