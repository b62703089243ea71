import { readdirSync, readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { rows } from "./rows/index.ts"
import { methods } from "./run.ts"

test("every operation of the API has a row", () => {
  const called = new Set(Object.values(rows).flatMap((each) => each.map(({ call }) => call)))
  expect([...methods.keys()].filter((call) => !called.has(call))).toEqual([])
})

test("every family of rows is run once", () => {
  const folder = import.meta.dirname
  const files = readdirSync(folder).filter((file) => file.endsWith(".test.ts"))
  const texts = files.map((file) => readFileSync(`${folder}/${file}`, "utf8"))
  const run = texts.flatMap(
    (text) => /testFamilies\(\[(.*?)\]\)/s.exec(text)?.[1]?.match(/\w+/g) ?? [],
  )
  expect(run.toSorted()).toEqual(Object.keys(rows).toSorted())
})
