// The store alone, in a process of its own: `bare-store.ts SECONDS`. Each command appends an event
// with private data, takes a claim, and writes a state and a view row. Prints its figures as JSON.
import { statSync } from "node:fs"
import { allAccounts, modules, openAccount } from "../../test/store/account.ts"
import { temporaryFolder } from "../../test/support/latchkey.ts"
import { openWorld } from "../../test/support/world.ts"
import { measure, watchLoop } from "./figure.ts"

const seconds = Number(process.argv[2] ?? 60)
const folder = temporaryFolder()
const world = openWorld(modules, folder)
const wal = `${folder.path}/latchkey.db-wal`
let walMax = 0
const sampling = setInterval(() => {
  walMax = Math.max(walMax, statSync(wal).size)
}, 100)
let next = 0
const add = () => {
  const id = `${1e9 + next++}`
  return openAccount(world.cx(), id, { name: `name ${id}` })
}

await measure(64, 1, add)
const stall = watchLoop()
const figures = await measure(64, seconds, add)
console.log(JSON.stringify({ ...figures, stall: stall(), walMax }))
clearInterval(sampling)
if (world.store.all(world.cx(), allAccounts).length !== next) throw new Error("rows are missing")
await world.close()
