// Which tests a change can break, found by following imports backwards.
import { existsSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { groups } from "../vitest.config.ts"
import { filesBelow, root, run } from "./step.ts"

/**
 * The paths, relative to the root, that differ from a revision, new files included. Without a
 * revision: from where this branch left `origin/main`, or from the last commit if there is none.
 */
export async function changedFiles(since?: string): Promise<readonly string[]> {
  const base = since ?? (await lines("git", "merge-base", "HEAD", "origin/main"))[0] ?? "HEAD"
  const differing = await run(["git", "diff", "--name-only", base, "--"])
  if (!differing.ok) throw new Error(`git can't compare with ${base}: ${differing.output}`)
  const added = await lines("git", "ls-files", "--others", "--exclude-standard")
  const all = new Set([...split(differing.output), ...added])
  return [...all].filter((path) => existsSync(join(root, path))).sort()
}

async function lines(...command: readonly string[]): Promise<readonly string[]> {
  const ended = await run(command)
  return ended.ok ? split(ended.output) : []
}

const split = (output: string) => output.split("\n").filter((line) => line !== "")

export type AffectedTests = {
  /** Unit test files, the closest to a change first. */
  readonly unit: readonly string[]
  /** Changed test files of the groups that need the binary. */
  readonly others: readonly string[]
}

/** Rules that look at every file, and at no file by an import. */
const always = ["test/tidy.test.ts"]

/** Tests that read files instead of importing them. */
const readers: readonly { readonly path: RegExp; readonly tests: readonly string[] }[] = [
  { path: /^proto\//, tests: ["test/contract/", "test/api/"] },
  { path: /^(docs\/|README\.md|src\/README\.md)/, tests: ["test/toolchain/map.test.ts"] },
  { path: /^package(-lock)?\.json$/, tests: ["test/toolchain/"] },
]

/** The tests for changed files (paths relative to the root). */
export async function testsFor(changed: readonly string[]): Promise<AffectedTests> {
  const files = ["src", "ui", "scripts", "test"].flatMap((folder) => filesBelow(join(root, folder)))
  const distance = distances(importersOf(files), changed)
  const named = readers
    .filter(({ path }) => changed.some((each) => path.test(each)))
    .flatMap(({ tests }) => tests)
  const isNamed = (path: string) => named.some((name) => path.startsWith(name))
  const tests = files.map((path) => relative(root, path)).filter((path) => isTest(path))
  const unit = tests.filter((path) => isUnit(path) && (distance.has(path) || isNamed(path)))
  const near = (path: string) => distance.get(path) ?? 0
  return {
    unit: [...new Set([...always, ...unit.sort((one, other) => near(one) - near(other))])],
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
    .map((found) => found.path)
    .filter((imported) => imported.startsWith("."))
}

/** The number of imports from each file that depends on a start, to the closest start. */
function distances(
  importers: ReadonlyMap<string, readonly string[]>,
  starts: readonly string[],
): ReadonlyMap<string, number> {
  const distance = new Map(starts.map((path) => [path, 0]))
  let edge: readonly string[] = starts
  for (let steps = 1; edge.length > 0; steps++) {
    const next = new Set(edge.flatMap((path) => importers.get(path) ?? []))
    edge = [...next].filter((path) => !distance.has(path))
    for (const path of edge) distance.set(path, steps)
  }
  return distance
}
