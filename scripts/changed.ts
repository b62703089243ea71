// Finds the tests that a change can break, by following imports backwards.
import { existsSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { groups } from "../vitest.config.ts"
import { filesBelow, root, run } from "./step.ts"

/**
 * Returns the paths, relative to the root, that differ from a revision, including new files.
 * Without a revision: from where this branch diverged from `origin/main`, or from the last commit
 * if there is none.
 */
export async function changedFiles(since?: string): Promise<readonly string[]> {
  const base = since ?? (await outputLines("git", "merge-base", "HEAD", "origin/main"))[0] ?? "HEAD"
  const differing = await run(["git", "diff", "--name-only", base, "--"])
  if (!differing.ok) throw new Error(`git can't compare with ${base}: ${differing.output}`)
  const added = await outputLines("git", "ls-files", "--others", "--exclude-standard")
  const all = new Set([...splitLines(differing.output), ...added])
  return [...all].filter((path) => existsSync(join(root, path))).sort()
}

async function outputLines(...command: readonly string[]): Promise<readonly string[]> {
  const result = await run(command)
  return result.ok ? splitLines(result.output) : []
}

const splitLines = (output: string) => output.split("\n").filter((line) => line !== "")

export type AffectedTests = {
  /** Unit test files, the closest to a change first. */
  readonly unit: readonly string[]
  /** Changed test files of the groups that need the binary. */
  readonly others: readonly string[]
}

/** Tests that check every file without importing it. */
const alwaysRun = ["test/tidy.test.ts"]

/** Tests that read files instead of importing them. */
const fileReaders: readonly { readonly path: RegExp; readonly tests: readonly string[] }[] = [
  { path: /^proto\//, tests: ["test/contract/", "test/api/"] },
  { path: /^(docs\/|README\.md|src\/README\.md)/, tests: ["test/toolchain/map.test.ts"] },
  { path: /^package(-lock)?\.json$/, tests: ["test/toolchain/"] },
]

/** The tests for changed files (paths relative to the root). */
export async function testsFor(changed: readonly string[]): Promise<AffectedTests> {
  const files = ["src", "ui", "scripts", "test"].flatMap((folder) => filesBelow(join(root, folder)))
  const distance = distances(importersOf(files), changed)
  const directTests = fileReaders
    .filter(({ path }) => changed.some((each) => path.test(each)))
    .flatMap(({ tests }) => tests)
  const isNamed = (path: string) => directTests.some((name) => path.startsWith(name))
  const tests = files.map((path) => relative(root, path)).filter((path) => isTest(path))
  const unit = tests.filter((path) => isUnit(path) && (distance.has(path) || isNamed(path)))
  const closest = (path: string) => distance.get(path) ?? 0
  return {
    unit: [...new Set([...alwaysRun, ...unit.sort((one, other) => closest(one) - closest(other))])],
    others: changed.filter((path) => isTest(path) && !isUnit(path)),
  }
}

const isTest = (path: string) => /\.test\.tsx?$/.test(path)

const unitExcludes = groups.find(({ name }) => name === "unit")?.exclude ?? []
const isUnit = (path: string) => !unitExcludes.some((glob) => new Bun.Glob(glob).match(path))

/** For each file, relative to the root, the files that import it. */
function importersOf(files: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const importers = new Map<string, string[]>()
  for (const path of files.filter((file) => /\.tsx?$/.test(file))) {
    for (const imported of importsOf(path)) {
      const target = relative(root, resolve(dirname(path), imported))
      importers.set(target, [...(importers.get(target) ?? []), relative(root, path)])
    }
  }
  return importers
}

const transpilers = {
  ts: new Bun.Transpiler({ loader: "ts" }),
  tsx: new Bun.Transpiler({ loader: "tsx" }),
}

function importsOf(path: string): readonly string[] {
  return transpilers[path.endsWith("x") ? "tsx" : "ts"]
    .scanImports(readFileSync(path))
    .map((imported) => imported.path)
    .filter((imported) => imported.startsWith("."))
}

/** The number of imports from each file that depends on a start, to the closest start. */
function distances(
  importers: ReadonlyMap<string, readonly string[]>,
  changedFiles_: readonly string[],
): ReadonlyMap<string, number> {
  const distance = new Map(changedFiles_.map((path) => [path, 0]))
  let edge: readonly string[] = changedFiles_
  for (let steps = 1; edge.length > 0; steps++) {
    const next = new Set(edge.flatMap((path) => importers.get(path) ?? []))
    edge = [...next].filter((path) => !distance.has(path))
    for (const path of edge) distance.set(path, steps)
  }
  return distance
}
