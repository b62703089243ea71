import { existsSync, statfsSync } from "node:fs"
import { defineConfig } from "vitest/config"
import { BaseSequencer } from "vitest/node"
import type { Prerequisite } from "./test/support/prerequisite.ts"

export type Group = {
  readonly name: string
  readonly include: string[]
  readonly exclude: string[]
  readonly isParallel: boolean
  /** How many of its files run at a time, where it is parallel; two unless it says so. */
  readonly workers?: number
  /** Whether its files share what they load: to load it anew takes as long as most of them do. */
  readonly sharesModules?: boolean
  /** Those that take longest, which begin first: else one worker waits at the end for the other. */
  readonly first?: readonly string[]
  /** What it can't run without. */
  readonly prerequisite?: Prerequisite
  readonly globalSetup?: string[]
  /** Whether its files talk to servers of their own, whose output belongs to a failure. */
  readonly testsServers?: boolean
  /** The files that the check runs, where those are not all. */
  readonly checked?: readonly string[]
  /** Whether its temporary files can be in memory: nothing in it is about the disk. */
  readonly inMemory?: boolean
  /** Whether it runs beside the groups that come after it: it leaves a core to them. */
  readonly isBeside?: boolean
  /** Whether its files replace modules (`vi.mock`), which only Vite's own loader can do. */
  readonly mocksModules?: boolean
}

const sharedLogChecked = [
  "test/oauth/code-at-once.test.ts",
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
  "test/oauth/code-at-once.test.ts",
  "test/oauth/refresh.test.ts",
  "test/oauth/dpop.test.ts",
  "test/domain/user/name.test.ts",
  "test/domain/user/erasure.test.ts",
]

/** Files that replace modules themselves, or test the one that `cheap-hash.ts` replaces. */
const mocking = [
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

/** How many files of a parallel group run at a time, where the group says nothing else. */
const workersMost = 2

/**
 * Groups run one after the other, but for one that is beside: scripts/check.ts walks through them.
 */
export const groups: readonly Group[] = [
  // Against the compiled binary: it waits for servers that are killed and started again.
  {
    name: "reliability",
    include: ["test/reliability/**/*.test.ts"],
    exclude: [],
    isParallel: false,
    isBeside: true,
    sharesModules: true,
    testsServers: true,
  },
  // Against the binary, too: half of the time it waits for one to start, or for what comes in time.
  {
    name: "acceptance",
    include: ["test/acceptance/**/*.test.ts"],
    exclude: mocking,
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
    exclude: ["test/acceptance/**", "test/reliability/**", "test/e2e/**", ...mocking],
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
    include: mocking,
    exclude: [],
    isParallel: true,
    mocksModules: true,
    // One file takes half of the time, and one of shared-log nearly all of it.
    isBeside: true,
  },
  // What the log matters to, once more with the log in PostgreSQL.
  {
    name: "shared-log",
    include: ["test/{domain,oauth,scenario}/**/*.test.{ts,tsx}"],
    // What a file alone does.
    exclude: ["test/oauth/unwritten.test.ts"],
    isParallel: true,
    sharesModules: true,
    prerequisite: "postgres",
    globalSetup: ["test/support/shared-log-setup.ts"],
    inMemory: true,
    checked: sharedLogChecked,
  },
  // The same with all that is decided sent to the process that writes.
  {
    name: "workers",
    include: ["test/{domain,oauth}/**/*.test.{ts,tsx}"],
    // What a process alone does.
    exclude: ["test/oauth/unwritten.test.ts"],
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
    // A quarter of the time a file waits for its browser to draw, and no other group runs by then.
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

/** How long one wait of a test lasts at most, in ms: a machine with much to do is no failure. */
const pollLimitMs = 60_000

/**
 * When a test or a hook that hangs is ended, in ms. Each wait in it has a limit of its own, which is
 * shorter and names what did not come.
 */
export const testLimitMs = 180_000

const memory = "/dev/shm"
const bytesNeeded = 1_000_000_000

/**
 * Temporary files in memory, where Linux offers it and has room: each command of a test's store
 * waits for the disk otherwise. What the disk does is tested on the disk, in other groups.
 */
function memoryFolder(): Readonly<Record<string, string>> {
  if (!existsSync(memory)) return {}
  const { bavail, bsize } = statfsSync(memory)
  return bavail * bsize > bytesNeeded ? { TMPDIR: memory } : {}
}

const firstFiles = groups.flatMap(({ first = [] }) => first)

/** What is named first begins first, in that order; then the files that are largest. */
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
    // Under Bun the other pools do not start.
    pool: "threads",
    maxWorkers: workersMost,
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
          // Bun loads TypeScript itself. Vite's transformation took as long as the tests.
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
