// Lists the slowest test files of all groups.
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./step.ts"
import type { GroupRun } from "./vitest.ts"

const maxListed = 50

/** The slowest files of all groups, as "12.3 s  group  path", slowest first. */
export const slowestOf = (runs: readonly Pick<GroupRun, "group" | "report">[]): string[] =>
  runs
    .flatMap(({ group, report }) =>
      (report?.testResults ?? []).map(({ name, startTime = 0, endTime = 0 }) => ({
        group: group.name,
        name,
        ms: endTime - startTime,
      })),
    )
    .sort((one, other) => other.ms - one.ms)
    .slice(0, maxListed)
    .map(
      ({ group, name, ms }) =>
        `${(ms / 1000).toFixed(1).padStart(7)} s  ${group.padEnd(11)}  ${name}`,
    )

/** Writes that list to dist/test/slowest.txt. */
export function writeSlowest(runs: readonly GroupRun[]): void {
  const folder = join(root, "dist", "test")
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, "slowest.txt"), `${slowestOf(runs).join("\n")}\n`)
}
