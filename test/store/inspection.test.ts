// What lies on disk is looked through in the background, and damage is told by its name.
import { readFileSync, writeFileSync } from "node:fs"
import { afterEach, beforeEach, expect, test } from "vitest"
import type { Fault } from "../../src/kernel/fault.ts"
import type { Store } from "../../src/store/index.ts"
import { openWorld } from "../support/world.ts"
import { account, openAccount, openFile, renameAccount, temporaryFile } from "./account.ts"

const name = "lovelace"
const calls = openWorld({ aggregates: [], views: [] })
let file: string
let remove: () => void
let store: Store
let troubles: Fault[]
const open = () => {
  troubles = []
  store = openFile(file, { trouble: (fault) => troubles.push(fault) })
}
beforeEach(async () => {
  const made = temporaryFile()
  file = made.file
  remove = made.remove
  open()
  for (let n = 0; n < 600; n++) {
    await openAccount(cx(), `${n}`, { name: `name${n}` })
    if (n === 7) await renameAccount(cx(), "7", name)
  }
})
afterEach(async () => {
  await store.close()
  remove()
})
const cx = () => ({ ...calls.cx(), store })

test("what is whole is passed over", async () => {
  expect([await store.inspect(0), troubles]).toEqual([undefined, []])
})

test("a damaged state is refused where it is read, and found where nobody reads it", async () => {
  store.database.run("UPDATE state SET state = replace(state, 'lovelace', 'lovelase')")
  expect(await store.inspect(0)).toMatchObject({ code: "data_loss", id: "store.damaged" })
  expect(troubles.map(({ message }) => message)).toEqual([
    "the state of account 7 is damaged on disk; restore the data folder from a backup",
  ])
  await store.close()
  open()
  expect(() => store.state(cx(), account, "7")).toThrow("the state of account 7 is damaged")
})

test("a flipped bit is found wherever it is: an event, a state, a claim, a row, its index", async () => {
  await store.close()
  const whole = readFileSync(file)
  const found: string[] = []
  for (let at = whole.indexOf(name); at >= 0; at = whole.indexOf(name, at + 1)) {
    const bytes = Buffer.from(whole)
    bytes[at + 3] = (bytes[at + 3] ?? 0) ^ 1
    writeFileSync(file, bytes)
    open()
    found.push((await store.inspect(0))?.message.split(" is damaged")[0] ?? "missed")
    await store.close()
  }
  writeFileSync(file, whole)
  open()
  expect(found.sort()).toEqual([
    "event 9",
    "the claim name of account 7",
    "the state of account 7",
    "the table accounts_1",
    "the table accounts_1",
  ])
})
