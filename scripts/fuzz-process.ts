import { openSync, writeSync } from "node:fs"
import { fileBytesMax, filesMax, readCorpus, targetBytesMax } from "../test/fuzz/engine/corpus.ts"
import { fuzz } from "../test/fuzz/engine/fuzz.ts"
import { targets } from "../test/fuzz/targets.ts"

// Started by scripts/fuzz.ts, which ends it where an input takes too long or ends the process.

/** What the process reports; inputs are in base64. */
export type FuzzReport =
  | { readonly kind: "progress"; readonly runs: number }
  | { readonly kind: "new"; readonly input: string }
  | { readonly kind: "finding"; readonly input: string; readonly reason: string }
  | {
      readonly kind: "done"
      readonly runs: number
      readonly outcomes: number
      readonly seconds: number
    }

const [, , name = "", minutes = "1", seed = "1", currentFile = ""] = process.argv

/** Milliseconds of processor time that one input may take. */
const costMax = 2000

const send = (report: FuzzReport) => void process.send?.(report)

const target = targets.find((each) => each.name === name)
if (!target) throw new Error(`there is no target ${name}`)
const open = await target.open()
const kept = readCorpus(name)
const begin = performance.now()
const end = begin + Number(minutes) * 60_000
const file = openSync(currentFile, "w")
const length = Buffer.alloc(4)

let current: Buffer = Buffer.alloc(0)
let [files, size, reported] = [kept.length, 0, 0]
for (const { bytes } of kept) size += bytes.length
let cost = process.cpuUsage()

const { runs, outcomes } = await fuzz(target, open, {
  seed: Number(seed),
  corpus: kept.map(({ bytes }) => bytes),
  isOver: (count) => {
    const now = performance.now()
    if (now - reported > 1000) {
      send({ kind: "progress", runs: count })
      reported = now
    }
    return now >= end
  },
  beforeRun: (input) => {
    const { user, system } = process.cpuUsage(cost)
    const spent = (user + system) / 1000
    if (spent > costMax) {
      const reason = `one run took ${Math.round(spent)} ms of processor time`
      send({ kind: "finding", input: current.toString("base64"), reason })
    }
    current = input
    length.writeUInt32LE(input.length)
    writeSync(file, length, 0, 4, 0)
    writeSync(file, input, 0, input.length, 4)
    cost = process.cpuUsage()
  },
  onNew: (input) => {
    const isLarge = input.length > fileBytesMax || size + input.length > targetBytesMax
    if (files >= filesMax || isLarge) return
    files++
    size += input.length
    send({ kind: "new", input: input.toString("base64") })
  },
  onFinding: ({ input, reason }) =>
    send({ kind: "finding", input: input.toString("base64"), reason }),
})
await open.close()
send({ kind: "done", runs, outcomes, seconds: (performance.now() - begin) / 1000 })
process.disconnect?.()
process.exit()
