// Lists which test files took longest, of all groups: what to look at when a check takes too long.
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "./step.ts"
import type { GroupRun } from "./vitest.ts"

const listedMax = 50

/** The slowest files of all groups, as "12.3 s  group  path", the slowest first. */
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
    .slice(0, listedMax)
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
