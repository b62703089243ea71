import { cpSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, expect, test } from "vitest"
import { baseline } from "../../scripts/baseline.ts"
import { root, run } from "../../scripts/step.ts"
import { temporaryFolder } from "../support/latchkey.ts"

const folder = temporaryFolder()
afterAll(() => folder.remove())

/** Compares the API with one change to its baseline. */
async function compare(file: string, change: (text: string) => string) {
  const copy = join(folder.path, "proto")
  cpSync(join(root, "proto"), copy, { recursive: true })
  const path = join(copy, file)
  const text = readFileSync(path, "utf8")
  expect(change(text)).not.toBe(text)
  writeFileSync(path, change(text))
  return run(["buf", "breaking", copy, "--against", baseline])
}

const projects = "core/project/v2/project_service.proto"
const getProject = /message GetProjectRequest \{[^}]*\}/

test("the API is compatible with its baseline", async () => {
  expect(await run(["buf", "breaking", "proto", "--against", baseline])).toMatchObject({ ok: true })
})

test.each<readonly [string, (text: string) => string]>([
  ["a number", (text) => text.replace(getProject, (result) => result.replace("= 1", "= 9"))],
  ["a name", (text) => text.replace(getProject, (result) => result.replace("project_id", "other"))],
  ["a type", (text) => text.replace(getProject, (result) => result.replace("string", "bytes"))],
  ["an operation", (text) => text.replace(/ {2}rpc GetProject\([^}]*\}/, "")],
])("reports a changed or removed %s", async (_, change) => {
  const { ok, output } = await compare(projects, change)
  expect([ok, output.includes(projects.split("/").at(-1) ?? "")]).toEqual([false, true])
})

test("accepts additions", async () => {
  const add = (text: string) => `${text}\nmessage Newcomer {\n  string name = 1;\n}\n`
  expect(await compare(projects, add)).toMatchObject({ ok: true })
})
