import { accessSync, constants } from "node:fs"
import { delimiter, join } from "node:path"

/** Programs of the machine that some tests need, with what they are for and how to get them. */
export const prerequisites = {
  chromium: {
    names: ["chromium", "chromium-browser", "google-chrome"],
    why: "the browser tests",
    remedy: "apt-get install chromium",
  },
  gcc: {
    names: ["gcc"],
    why: "the power-loss tests, whose recorder is a few lines of C",
    remedy: "apt-get install gcc libc6-dev",
  },
} as const

export type Prerequisite = keyof typeof prerequisites

/**
 * The path of a program, or undefined where the machine lacks it. Suites then use
 * `describe.runIf(needs("chromium"))`; the check names what is missing, and fails in CI.
 */
export function needs(prerequisite: Prerequisite): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter)
  return prerequisites[prerequisite].names
    .flatMap((name) => folders.map((folder) => join(folder, name)))
    .find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
