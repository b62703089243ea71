import { chmodSync, existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { createKeyFile } from "../../src/boot/folder/key-file.ts"
import { systemClock } from "../../src/kernel/clock.ts"
import { createIds } from "../../src/kernel/id.ts"
import { temporaryFolder } from "../support/latchkey.ts"

let folder: ReturnType<typeof temporaryFolder>
let path: string
let partialFile: string
beforeEach(() => {
  folder = temporaryFolder()
  path = join(folder.path, "key.json")
  partialFile = `${path}.part`
})
afterEach(() => folder.remove())

const ids = createIds(systemClock)
const userIn = (file: string) => JSON.parse(readFileSync(file, "utf8")).userId

test("the key has a temporary name until it is registered", async () => {
  const { registered, finish } = await createKeyFile(path, ids)
  expect([existsSync(path), userIn(partialFile)]).toEqual([false, registered.userId])
  finish()
  expect([existsSync(partialFile), userIn(path)]).toEqual([false, registered.userId])
})

test("a run that stops before registering its key leaves the key to the next run", async () => {
  const first = await createKeyFile(path, ids)
  expect((await createKeyFile(path, ids)).registered).toEqual(first.registered)
})

test("a run that stops before writing its key does not block the next one", async () => {
  writeFileSync(partialFile, "", { mode: 0o600 })
  const { registered, finish } = await createKeyFile(path, ids)
  finish()
  expect(userIn(path)).toBe(registered.userId)
})

test.each([
  ["half a key", () => writeFileSync(partialFile, '{"type":', { mode: 0o600 })],
  ["a link", () => symlinkSync("/dev/null", partialFile)],
  ["a key that others can read", () => writeForeignKey()],
])("%s is rejected and stays", async (_, leave) => {
  await leave()
  await expect(createKeyFile(path, ids)).rejects.toThrow(`${partialFile} can't be`)
  expect([existsSync(path), existsSync(partialFile)]).toEqual([false, true])
})

async function writeForeignKey(): Promise<void> {
  await createKeyFile(path, ids)
  chmodSync(partialFile, 0o644)
}
