// The cross-file rules of tidy.test.ts, tested with code that violates them.
import { expect, test } from "vitest"
import * as layering from "./support/tidy-console.ts"
import { exportLimit } from "./support/tidy-exports.ts"
import { faultIds, faultTables } from "./support/tidy-faults.ts"
import { allowedImports, deadFiles, findCycle, findImportCycles } from "./support/tidy-imports.ts"
import { parse } from "./support/tidy-source.ts"

test("reports a file that only a test or another dead file imports", async () => {
  const files = {
    "src/main.ts": 'import "./alive.ts"\nnew Worker("./worker.ts")',
    "src/alive.ts": "export {}",
    "src/worker.ts": "export {}",
    "src/dead.ts": 'import "./deader.ts"',
    "src/deader.ts": "export {}",
    "test/dead.test.ts": 'import "../src/dead.ts"',
  }
  const found = deadFiles(await parse(new Map(Object.entries(files))))
  expect(found.map((finding) => finding.path)).toEqual(["src/dead.ts", "src/deader.ts"])
})

test("reports a table keyed by fault IDs", async () => {
  const table = 'export const texts = { "room.full": "The room is full.", "room.added": 1 }'
  const sources = await parse(
    new Map([
      ["src/room/a.ts", 'throw new Fault("aborted", "room.full", "the room is full")'],
      ["src/room/b.ts", 'throw fieldError("room.name", "name", "must be given")'],
      ["src/login/appearance/fault-text.ts", table],
      ["src/hall/c.ts", table],
      ["ui/hall/d.ts", table],
    ]),
  )
  expect([...faultIds(sources)]).toEqual(["room.full", "room.name"])
  expect(faultTables(sources).map(({ path }) => path)).toEqual(["src/hall/c.ts", "ui/hall/d.ts"])
})

test("reports a cycle in the list of modules", () => {
  expect(findCycle({ a: ["b"], b: ["c"], c: ["a"] })).toEqual(["a", "b", "c", "a"])
  expect(findCycle({ ...allowedImports, "src/kernel": ["src/api"] })).toBeDefined()
})

test("reports an import cycle, across directories and within one", async () => {
  const files = {
    "src/room/a.ts": 'import "../hall/b.ts"',
    "src/hall/b.ts": 'import type { C } from "./c.ts"',
    "src/hall/c.ts": 'import { a } from "../room/a.ts"\nimport "./d.ts"',
    "src/hall/d.ts": 'import "./e.ts"',
    "src/hall/e.ts": 'import type { D } from "./d.ts"',
    "src/hall/f.ts": 'import "./d.ts"',
  }
  const found = findImportCycles(await parse(new Map(Object.entries(files))))
  expect(found.map(({ path, message }) => `${path} ${message}`).toSorted()).toEqual([
    "src/hall/b.ts in a circle with src/hall/c.ts, src/room/a.ts",
    "src/hall/d.ts in a circle with src/hall/e.ts",
  ])
})

test("reports an import cycle within one directory of ui", async () => {
  const files = {
    "ui/console/list/history.tsx": 'import { UndoButton } from "./undo.tsx"',
    "ui/console/list/undo.tsx": 'import type { Subject } from "./history.tsx"',
  }
  const [circle, ...others] = findImportCycles(await parse(new Map(Object.entries(files))))
  expect(others).toEqual([])
  expect(circle?.message).toBe("in a circle with ui/console/list/undo.tsx")
})

test("reports a directory of the console that is not in the list of layers", async () => {
  const [source] = await parse(new Map([["ui/console/helper/date.ts", "export {}"]]))
  expect(source && layering.layers(source)).toHaveLength(1)
})

const names = (count: number) => Array.from({ length: count }, (_, at) => `n${at}`).join(", ")

test.each([
  ["41 names", "room", `export { ${names(40)} } from "./a.ts"\nexport const module = {}`, 1],
  [
    "41 types and values",
    "room",
    `export type { ${names(40)} } from "./a.ts"\nexport type A = 1`,
    1,
  ],
  ["40 names", "room", `export { ${names(39)} } from "./a.ts"\nexport const module = {}`, 0],
  ["all of another file", "room", 'export * from "./a.ts"', 1],
  ["more than its exception", "instance", `export { ${names(52)} } from "./a.ts"`, 1],
  ["as many as its exception", "instance", `export { ${names(51)} } from "./a.ts"`, 0],
  ["fewer than its exception", "instance", `export { ${names(50)} } from "./a.ts"`, 1],
  ["no more than any other may", "instance", `export { ${names(40)} } from "./a.ts"`, 1],
])("reports an index.ts that exports %s", async (_, module, text, findings) => {
  const path = `src/domain/${module}/index.ts`
  const [source] = await parse(new Map([[path, text]]))
  expect(source && exportLimit(source)).toHaveLength(findings)
})

test("allows other files to export any number of names", async () => {
  const path = "src/domain/room/commands.ts"
  const [source] = await parse(new Map([[path, `export { ${names(50)} } from "./a.ts"`]]))
  expect(source && exportLimit(source)).toEqual([])
})
