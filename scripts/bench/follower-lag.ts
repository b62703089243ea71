// One of two processes on one event log: `follower-lag.ts write|follow DATABASE SECONDS`. The
// writer appends 1,000 events per second; the follower prints how late it receives them, by their
// shared clock.
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { integer, table, text, view } from "../../src/store/index.ts"
import { type AccountEvent, account, openAccount } from "../../test/store/account.ts"
import { openTestNode } from "../../test/store/node.ts"
import { temporaryFolder } from "../../test/support/latchkey.ts"
import { openTestEnvironment } from "../../test/support/test-environment.ts"

const [role = "", url = "", seconds = "8"] = process.argv.slice(2)
const perSecond = 1000
const lags: number[] = []
const receivedTable = table("seen", { id: text(), at: integer() }, { key: ["id"] })

const receivedView = view<AccountEvent>({
  name: "seen",
  tables: [receivedTable],
  on: {
    "account.opened": (db, { id, data }) => {
      const now = performance.timeOrigin + performance.now()
      if (role === "follow") lags.push(now - Number(data.name))
      receivedTable.insert(db, { id, at: Math.round(now) })
    },
  },
})

const modules = { aggregates: [account], views: [receivedView] }
const folder = temporaryFolder()
const store = await openTestNode({ ...modules, url, file: join(folder.path, "latchkey.db") })
const fixture = openTestEnvironment(modules)

async function write(): Promise<void> {
  const begun = performance.now()
  const writing: Promise<unknown>[] = []
  for (let count = 0; count < Number(seconds) * perSecond; count++) {
    const delayMs = (count * 1000) / perSecond - (performance.now() - begun)
    if (delayMs > 1) await sleep(delayMs)
    const name = `${(performance.timeOrigin + performance.now()).toFixed(3)}${count}`
    writing.push(openAccount({ ...fixture.cx(), store }, `${count}`, { name }))
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
  const details = `median ${at(0.5)}, ${sorted.length} events, maximum ${at(1)}`
  console.log(
    `${"lag of another node, 99th".padEnd(52)}${at(0.99).padStart(14)}   < 50 ms; ${details}`,
  )
}

await (role === "write" ? write() : follow())
await store.close()
await fixture.close()
folder.remove()
