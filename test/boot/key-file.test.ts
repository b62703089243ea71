import { chmodSync, existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { keyFileAt } from "../../src/boot/folder/key-file.ts"
import { systemClock } from "../../src/kernel/clock.ts"
import { idsOf } from "../../src/kernel/id.ts"
import { temporaryFolder } from "../support/latchkey.ts"

let folder: ReturnType<typeof temporaryFolder>
let path: string
let part: string
beforeEach(() => {
  folder = temporaryFolder()
  path = join(folder.path, "key.json")
  part = `${path}.part`
})
afterEach(() => folder.remove())

const ids = idsOf(systemClock)
const userIn = (file: string) => JSON.parse(readFileSync(file, "utf8")).userId

test("the key lies beside its name until it is registered", async () => {
  const { registered, finish } = await keyFileAt(path, ids)
  expect([existsSync(path), userIn(part)]).toEqual([false, registered.userId])
  finish()
  expect([existsSync(part), userIn(path)]).toEqual([false, registered.userId])
})

test("a run that was cut off before it registered its key leaves it to the next", async () => {
  const first = await keyFileAt(path, ids)
  expect((await keyFileAt(path, ids)).registered).toEqual(first.registered)
})

test("a run that was cut off before it wrote its key stops no other", async () => {
  writeFileSync(part, "", { mode: 0o600 })
  const { registered, finish } = await keyFileAt(path, ids)
  finish()
  expect(userIn(path)).toBe(registered.userId)
})

test.each([
  ["half a key", () => writeFileSync(part, '{"type":', { mode: 0o600 })],
  ["a link", () => symlinkSync("/dev/null", part)],
  ["a key that others can read", () => keyOfOthers()],
])("%s is refused, and stays", async (_, leave) => {
  await leave()
  await expect(keyFileAt(path, ids)).rejects.toThrow(`${part} can't be`)
  expect([existsSync(path), existsSync(part)]).toEqual([false, true])
})

async function keyOfOthers(): Promise<void> {
  await keyFileAt(path, ids)
  chmodSync(part, 0o644)
}
