// One of two processes on one log: `follower-lag.ts write|follow DATABASE SECONDS`. One writes
// 1,000 times a second; the other one says how late it had that, by the clock they share.
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { integer, table, text, view } from "../../src/store/index.ts"
import { type AccountEvent, account, openAccount } from "../../test/store/account.ts"
import { openTestNode } from "../../test/store/node.ts"
import { temporaryFolder } from "../../test/support/latchkey.ts"
import { openWorld } from "../../test/support/world.ts"

const [part = "", url = "", seconds = "8"] = process.argv.slice(2)
const perSecond = 1000
const lags: number[] = []
const seenTable = table("seen", { id: text(), at: integer() }, { key: ["id"] })

const seen = view<AccountEvent>({
  name: "seen",
  tables: [seenTable],
  on: {
    "account.opened": (db, { id, data }) => {
      const now = performance.timeOrigin + performance.now()
      if (part === "follow") lags.push(now - Number(data.name))
      seenTable.insert(db, { id, at: Math.round(now) })
    },
  },
})

const modules = { aggregates: [account], views: [seen] }
const folder = temporaryFolder()
const store = await openTestNode({ ...modules, url, file: join(folder.path, "latchkey.db") })
const world = openWorld(modules)

async function write(): Promise<void> {
  const begun = performance.now()
  const writing: Promise<unknown>[] = []
  for (let count = 0; count < Number(seconds) * perSecond; count++) {
    const early = (count * 1000) / perSecond - (performance.now() - begun)
    if (early > 1) await sleep(early)
    const name = `${(performance.timeOrigin + performance.now()).toFixed(3)}${count}`
    writing.push(openAccount({ ...world.cx(), store }, `${count}`, { name }))
  }
  await Promise.all(writing)
  const took = (performance.now() - begun) / 1000
  const rate = Math.round(writing.length / took).toLocaleString("en")
  console.log(`${"writes of one node".padEnd(52)}${`${rate}/s`.padStart(14)}`)
}

async function follow(): Promise<void> {
  await sleep(500)
  lags.splice(0)
  await sleep((Number(seconds) - 3) * 1000)
  const sorted = lags.splice(0).sort((a, b) => a - b)
  const at = (share: number) =>
    `${(sorted[Math.floor((sorted.length - 1) * share)] ?? -1).toFixed(1)} ms`
  const more = `half ${at(0.5)}, of ${sorted.length}, worst ${at(1)}`
  console.log(
    `${"lag of another node, 99th".padEnd(52)}${at(0.99).padStart(14)}   < 50 ms; ${more}`,
  )
}

await (part === "write" ? write() : follow())
await store.close()
await world.close()
folder.remove()
