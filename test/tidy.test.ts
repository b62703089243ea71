import { dirname, join } from "node:path"
import { beforeAll, describe, expect, test } from "vitest"
import * as words from "./support/tidy-calls.ts"
import * as layering from "./support/tidy-console.ts"
import { exportLimit } from "./support/tidy-exports.ts"
import { faultTables } from "./support/tidy-faults.ts"
import {
  allowedImports,
  deadFiles,
  findCycle,
  findImportCycles,
  imports,
  libraries,
  polyfillOrder,
} from "./support/tidy-imports.ts"
import * as kernel from "./support/tidy-kernel.ts"
import * as walls from "./support/tidy-limits.ts"
import { loginLayerRule } from "./support/tidy-login.ts"
import * as names from "./support/tidy-names.ts"
import * as prose from "./support/tidy-prose.ts"
import { type Finding, parse, type Rule, type Source, textsBelow } from "./support/tidy-source.ts"
import { unusedExceptions } from "./support/tidy-texts.ts"

const root = join(import.meta.dirname, "..")

/** Every rule, by the name of its test. */
const rules: Readonly<Record<string, Rule>> = {
  "no line is longer than 100 columns": walls.lineLength,
  "no file is longer than 500 lines, and no test file than 600": walls.fileLength,
  "no file of src/store is longer than 450 lines": walls.storeFileLength,
  "no function is longer than 100 lines": walls.functionLength,
  "no spread of a literal packs entries on a line": walls.packing,
  "blocks nest at most three deep": walls.nesting,
  "any, as and ! stand only where they are allowed, with a reason": walls.overriddenTypes,
  "there is no class but the named ones": walls.namedClasses,
  "no file has a name that names nothing": walls.fileName,
  "modules import along the list and through doors": imports,
  "the folders of the console import along the list of layers": layering.layers,
  "pages read fields by names that the compiler knows": layering.typedFields,
  "no module's index.ts exports more than 40 names": exportLimit,
  "the kernel does no I/O and has no code of protocols": kernel.kernel,
  "ports have types only": kernel.ports,
  "no import of src/login leads up its layers": loginLayerRule,
  "libraries stay where they are listed": libraries,
  "a library comes after the polyfill that it needs": polyfillOrder,
  "clock, ids, randomness, network and environment are arguments": words.bannedCalls,
  "tests wait for conditions, not for durations": words.durations,
  "no test has a limit that ends it before its waits": words.limits,
  "nothing is left unfinished or skipped": words.unfinishedWork,
  "nothing names the machine it was written on": words.machineTraces,
  "no comment waives the compiler or a wall": words.waivers,
  "the console makes forms in one way": words.forms,
  "the console reads no error by its words": words.errorPatterns,
  "no pattern stands where it fits anything": words.fittingPatterns,
  "no comment has a wording that is avoided": prose.commentWordings,
  "no message of an error and no help has one": prose.messageWordings,
  "types are named with nouns": names.typeNames,
  "parameters are named with nouns": names.parameterNames,
  "functions are named with verbs or nouns": names.functionNames,
}

const isCode = (path: string) => /\.(ts|tsx|mjs)$/.test(path)

const isOurs = (path: string) => !/^(src\/gen|ui\/dist)\//.test(path)

describe("the repository", () => {
  let sources: readonly Source[] = []
  beforeAll(async () => {
    const texts = textsBelow(root, ["src", "ui", "scripts", "test"], isCode)
    sources = await parse(new Map([...texts].filter(([path]) => isOurs(path))))
  })

  test("has files to check", () => {
    expect(sources.map((source) => source.path)).toContain("src/kernel/fault.ts")
  })

  test.each(Object.entries(rules))("%s", (_, rule) => {
    expect(sources.flatMap(rule).map(asLine)).toEqual([])
  })

  test("needs every exception from the wordings", () => {
    const texts = sources.map(
      (source) => [source.path, prose.commentsOf(source) + prose.textsOf(source)] as const,
    )
    expect(unusedExceptions(texts, "code")).toEqual([])
  })

  test("has no avoided wording in the comments of proto", () => {
    const files = textsBelow(root, ["proto/core"], (path) => path.endsWith(".proto"))
    expect(files.size).toBeGreaterThan(50)
    expect(
      [...files].flatMap(([path, text]) => prose.protoWordings(path, text)).map(asLine),
    ).toEqual([])
  })

  test("uses every file of src and ui", () => {
    expect(deadFiles(sources).map(asLine)).toEqual([])
  })

  test("has at most fifteen files in each directory of src", () => {
    const folders = Map.groupBy(sources, ({ path }) => dirname(path))
    const full = [...folders].filter(
      ([path, files]) => path.startsWith("src/") && files.length > 15,
    )
    expect(full.map(([path]) => path)).toEqual([])
  })

  test("has no import cycles", () => {
    expect(findImportCycles(sources).map(asLine)).toEqual([])
  })

  test("maps fault IDs only in the listed tables", () => {
    expect(faultTables(sources).map(asLine)).toEqual([])
  })

  test("has no cycle in the list of modules", () => {
    expect(findCycle(allowedImports)).toBeUndefined()
  })
})

const asLine = ({ path, line, message }: Finding) => `${path}:${line}  ${message}`
