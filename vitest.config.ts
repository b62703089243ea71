import { existsSync, statfsSync } from "node:fs"
import { defineConfig } from "vitest/config"
import { BaseSequencer } from "vitest/node"
import type { Prerequisite } from "./test/support/prerequisite.ts"

export type Group = {
  readonly name: string
  readonly include: string[]
  readonly exclude: string[]
  readonly isParallel: boolean
  /** Maximum number of its files that run at a time, if it is parallel; two by default. */
  readonly workers?: number
  /**
   * Whether its files share loaded modules: loading them again takes as long as most of the tests.
   */
  readonly sharesModules?: boolean
  /** The slowest files, which start first, so that no worker waits for them at the end. */
  readonly first?: readonly string[]
  /** A program that it requires. */
  readonly prerequisite?: Prerequisite
  readonly globalSetup?: string[]
  /** Whether its files talk to their own servers, whose output is part of a failure. */
  readonly testsServers?: boolean
  /** The files that the check runs, if not all. */
  readonly checked?: readonly string[]
  /** Whether its temporary files can be in memory, because it doesn't test the disk. */
  readonly inMemory?: boolean
  /** Whether it runs in parallel with the following groups, and leaves a core to them. */
  readonly isBeside?: boolean
  /** Whether its files replace modules (`vi.mock`), which only Vite's own loader supports. */
  readonly mocksModules?: boolean
}

const sharedLogChecked = [
  "test/oauth/stateless-code.test.ts",
  "test/oauth/refresh.test.ts",
  "test/domain/user/name.test.ts",
  "test/domain/user/erasure.test.ts",
  "test/domain/authorization/replay.test.ts",
  "test/oauth/dpop.test.ts",
  "test/domain/lockout/tarpit.test.ts",
  "test/domain/key/saml.test.ts",
  "test/domain/project/role.test.ts",
]

const workersChecked = [
  "test/oauth/stateless-code.test.ts",
  "test/oauth/refresh.test.ts",
  "test/oauth/dpop.test.ts",
  "test/domain/user/name.test.ts",
  "test/domain/user/erasure.test.ts",
]

/** Files that replace modules, or test the one that `cheap-hash.ts` replaces. */
const mockingFiles = [
  "test/toolchain/release.test.ts",
  "test/domain/credential/password.test.ts",
  "test/boot/guard.test.ts",
  "test/oauth/hostile.test.ts",
  "test/server/host.test.ts",
  "test/http/routes.test.ts",
  "test/server/worker-app.test.ts",
  "test/acceptance/internal-failure.test.ts",
  "test/acceptance/system.test.ts",
  "test/acceptance/two-instances.test.ts",
]

/** Default number of files of a parallel group that run at a time. */
const defaultWorkers = 2

/** Groups run one after the other, except those in parallel with others; see scripts/check.ts. */
export const groups: readonly Group[] = [
  // Against the compiled binary: waits for servers that are killed and restarted.
  {
    name: "reliability",
    include: ["test/reliability/**/*.test.ts"],
    exclude: [],
    isParallel: false,
    isBeside: true,
    sharesModules: true,
    testsServers: true,
  },
  // Also against the binary: half of the time it waits for a start or for a timeout.
  {
    name: "acceptance",
    include: ["test/acceptance/**/*.test.ts"],
    exclude: mockingFiles,
    isParallel: true,
    isBeside: true,
    sharesModules: true,
    inMemory: true,
    first: ["test/acceptance/documentation.test.ts", "test/acceptance/acme.test.ts"],
    testsServers: true,
  },
  {
    name: "unit",
    include: ["test/**/*.test.{ts,tsx}"],
    exclude: ["test/acceptance/**", "test/reliability/**", "test/e2e/**", ...mockingFiles],
    isParallel: true,
    first: [
      "test/scenario/instance.test.ts",
      "test/scenario/people.test.ts",
      "test/domain/text/message.test.ts",
      "test/tidy.test.ts",
      "test/domain/action/engine.test.ts",
      "test/scenario/text.test.ts",
      "test/toolchain/baseline.test.ts",
    ],
    sharesModules: true,
    inMemory: true,
  },
  {
    name: "mocked",
    include: mockingFiles,
    exclude: [],
    isParallel: true,
    mocksModules: true,
    // One file takes half of the time, and one in shared-log nearly all of it.
    isBeside: true,
  },
  // Tests that depend on the log, repeated with the log in PostgreSQL.
  {
    name: "shared-log",
    include: ["test/{domain,oauth,scenario}/**/*.test.{ts,tsx}"],
    // Only applies to a log in a file.
    exclude: ["test/oauth/write-failure.test.ts"],
    isParallel: true,
    sharesModules: true,
    prerequisite: "postgres",
    globalSetup: ["test/support/shared-log-setup.ts"],
    inMemory: true,
    checked: sharedLogChecked,
  },
  // The same with transactions sent to the writer process.
  {
    name: "workers",
    include: ["test/{domain,oauth}/**/*.test.{ts,tsx}"],
    // Only applies to a single process.
    exclude: ["test/oauth/write-failure.test.ts"],
    isParallel: true,
    sharesModules: true,
    globalSetup: ["test/support/worker-setup.ts"],
    inMemory: true,
    checked: workersChecked,
  },
  {
    name: "e2e",
    include: ["test/e2e/**/*.test.ts"],
    exclude: [],
    isParallel: true,
    sharesModules: true,
    inMemory: true,
    // A quarter of the time, a file waits for its browser to render, and no other group runs at
    // that point.
    workers: 3,
    first: [
      "test/e2e/keyboard.test.ts",
      "test/e2e/roles.test.ts",
      "test/e2e/pages.test.ts",
      "test/e2e/forms.test.ts",
      "test/e2e/redirects.test.ts",
    ],
    testsServers: true,
  },
]

/** Maximum duration of a wait in a test, in ms: a busy machine is no failure. */
const pollLimitMs = 60_000

/**
 * When a hanging test or hook is ended, in ms. Each wait in it has its own shorter limit, which
 * names what is missing.
 */
export const testLimitMs = 180_000

const memoryPath = "/dev/shm"
const bytesNeeded = 1_000_000_000

/**
 * Puts temporary files in memory, if Linux offers it and has space: otherwise each command of a
 * test's store waits for the disk. Other groups test the disk itself.
 */
function memoryFolder(): Readonly<Record<string, string>> {
  if (!existsSync(memoryPath)) return {}
  const { bavail, bsize } = statfsSync(memoryPath)
  return bavail * bsize > bytesNeeded ? { TMPDIR: memoryPath } : {}
}

const firstFiles = groups.flatMap(({ first = [] }) => first)

/** Starts the files in `first` in that order, then the largest files. */
class LongestFirst extends BaseSequencer {
  override async sort(files: Parameters<BaseSequencer["sort"]>[0]) {
    const rank = ({ moduleId }: (typeof files)[number]) => {
      const at = firstFiles.findIndex((path) => moduleId.endsWith(`/${path}`))
      return at < 0 ? firstFiles.length : at
    }
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b))
  }
}

// biome-ignore lint/style/noDefaultExport: vitest reads its configuration from the default export.
export default defineConfig({
  test: {
    // The other pools do not start under Bun.
    pool: "threads",
    maxWorkers: defaultWorkers,
    sequence: { sequencer: LongestFirst },
    testTimeout: testLimitMs,
    hookTimeout: testLimitMs,
    expect: { poll: { timeout: pollLimitMs } },
    projects: groups.map(
      ({
        name,
        include,
        exclude,
        isParallel,
        sharesModules = false,
        mocksModules = false,
        inMemory = false,
        testsServers = false,
        globalSetup = [],
      }) => ({
        extends: true as const,
        test: {
          name,
          include,
          exclude,
          globalSetup,
          env: inMemory ? memoryFolder() : {},
          fileParallelism: isParallel,
          isolate: !sharesModules,
          // Bun loads TypeScript itself; Vite's transformation took as long as the tests.
          experimental: { viteModuleRunner: mocksModules, nodeLoader: false },
          setupFiles: [
            ...(mocksModules ? [] : ["test/support/cheap-hash.ts"]),
            ...(testsServers ? ["test/support/server-setup.ts"] : []),
          ],
        },
      }),
    ),
  },
})
