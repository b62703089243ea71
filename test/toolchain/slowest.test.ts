import { expect, test } from "vitest"
import { slowestOf } from "../../scripts/slowest.ts"
import { groups } from "../../vitest.config.ts"

const runOf = (name: string, times: Readonly<Record<string, number>>) => ({
  group: groups.filter((group) => group.name === name)[0] ?? fail(name),
  report: {
    testResults: Object.entries(times).map(([file, ms]) => ({
      name: file,
      status: "passed",
      assertionResults: [],
      startTime: 1000,
      endTime: 1000 + ms,
    })),
  },
})

function fail(name: string): never {
  throw new Error(`there is no group ${name}`)
}

test("the slowest files of all groups are listed together, the slowest first", () => {
  const runs = [runOf("unit", { a: 20, b: 12_300 }), runOf("reliability", { c: 79_000 })]
  expect(slowestOf(runs)).toEqual([
    "   79.0 s  reliability  c",
    "   12.3 s  unit         b",
    "    0.0 s  unit         a",
  ])
})

test("lists at most fifty, and none of a group without a report", () => {
  const many = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`f${at}`, at]))
  const run = runOf("unit", many)
  expect(slowestOf([run, { ...run, report: undefined }])).toHaveLength(50)
})
