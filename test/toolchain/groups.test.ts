import { join } from "node:path"
import { expect, test } from "vitest"
import { groups } from "../../vitest.config.ts"
import { textsBelow } from "../support/tidy-source.ts"

const root = join(import.meta.dirname, "../..")

/** The names of a test file's groups. */
const groupsOf = (path: string) =>
  groups
    .filter(({ include }) => include.some((glob) => new Bun.Glob(glob).match(path)))
    .filter(({ exclude }) => !exclude.some((glob) => new Bun.Glob(glob).match(path)))
    .map(({ name }) => name)

const tests = textsBelow(root, ["test"], (path) => /\.test\.tsx?$/.test(path))

test("every test file belongs to a group", () => {
  expect([...tests.keys()].filter((path) => groupsOf(path).length === 0)).toEqual([])
})

test("the first files of a group exist, and belong to it", () => {
  const strays = groups.flatMap(({ name, first = [] }) =>
    first.filter((path) => !tests.has(path) || !groupsOf(path).includes(name)),
  )
  expect(strays).toEqual([])
})

test("a file that mocks modules runs with the loader that supports it, and with no other", () => {
  const replacing = [...tests].filter(([, text]) => /\bvi\.(doM|m)ock\(/.test(text))
  expect(replacing.length).toBeGreaterThan(0)
  const checked = new Set(groups.flatMap((group) => group.checked ?? []))
  const strays = replacing
    .map(([path]) => path)
    .filter((path) => checked.has(path) || !groupsOf(path).includes("mocked"))
  expect(strays).toEqual([])
  const others = replacing.flatMap(([path]) => groupsOf(path).filter((name) => name !== "mocked"))
  // Groups of selected files, none of which is among these.
  expect(others.filter((name) => !["shared-log", "workers"].includes(name))).toEqual([])
})
