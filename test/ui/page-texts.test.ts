import { readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { writePageTexts } from "../../ui/page-texts.ts"

const generated = join(import.meta.dirname, "../../src/gen")

const filesNow = () =>
  ["console-texts.ts", ...readdirSync(join(generated, "console-texts")).map(inFolder)].map(
    (name) => [name, statSync(join(generated, name)).ino, statSync(join(generated, name)).mtimeMs],
  )

const inFolder = (name: string) => join("console-texts", name)

test("unchanged texts are not rewritten, because a type check may be reading them", async () => {
  await writePageTexts()
  const before = filesNow()
  expect(before.length).toBeGreaterThan(20)
  await writePageTexts()
  expect(filesNow()).toEqual(before)
})
