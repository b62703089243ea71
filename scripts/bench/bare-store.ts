// Measures the store alone, in its own process: `bare-store.ts SECONDS`. Each command appends an
// event with private data, adds a claim, and writes a state and a view row. Prints the figures as
// JSON.
import { statSync } from "node:fs"
import { allAccounts, modules, openAccount } from "../../test/store/account.ts"
import { temporaryFolder } from "../../test/support/latchkey.ts"
import { openTestEnvironment } from "../../test/support/test-environment.ts"
import { measure, watchLoop } from "./figure.ts"

const seconds = Number(process.argv[2] ?? 60)
const folder = temporaryFolder()
const fixture = openTestEnvironment(modules, folder)
const wal = `${folder.path}/latchkey.db-wal`
let walMax = 0
const samplingTimer = setInterval(() => {
  walMax = Math.max(walMax, statSync(wal).size)
}, 100)
let nextId = 0
const addAccount = () => {
  const id = `${1e9 + nextId++}`
  return openAccount(fixture.cx(), id, { name: `name ${id}` })
}

await measure(64, 1, addAccount)
const getLongestStall = watchLoop()
const figures = await measure(64, seconds, addAccount)
console.log(JSON.stringify({ ...figures, stall: getLongestStall(), walMax }))
clearInterval(samplingTimer)
if (fixture.store.all(fixture.cx(), allAccounts).length !== nextId)
  throw new Error("rows are missing")
await fixture.close()
