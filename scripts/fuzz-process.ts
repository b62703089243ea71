import { openSync, writeSync } from "node:fs"
import { fileBytesMax, filesMax, readCorpus, targetBytesMax } from "../test/fuzz/engine/corpus.ts"
import { fuzz } from "../test/fuzz/engine/fuzz.ts"
import { targets } from "../test/fuzz/targets.ts"

// Started by scripts/fuzz.ts, which restarts it if an input takes too long or crashes it.

/** Messages from this process; inputs are base64. */
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

/** Maximum CPU milliseconds for one input. */
const maxCpuMs = 2000

const send = (report: FuzzReport) => void process.send?.(report)

const target = targets.find((each) => each.name === name)
if (!target) throw new Error(`unknown target ${name}`)
const open = await target.open()
const corpus = readCorpus(name)
const startedAt = performance.now()
const end = startedAt + Number(minutes) * 60_000
const file = openSync(currentFile, "w")
const length = Buffer.alloc(4)

let current: Buffer = Buffer.alloc(0)
let [files, size, reported] = [corpus.length, 0, 0]
for (const { bytes } of corpus) size += bytes.length
let cpuUsage = process.cpuUsage()

const { runs, outcomes } = await fuzz(target, open, {
  seed: Number(seed),
  corpus: corpus.map(({ bytes }) => bytes),
  isOver: (count) => {
    const now = performance.now()
    if (now - reported > 1000) {
      send({ kind: "progress", runs: count })
      reported = now
    }
    return now >= end
  },
  beforeRun: (input) => {
    const { user, system } = process.cpuUsage(cpuUsage)
    const cpuMs = (user + system) / 1000
    if (cpuMs > maxCpuMs) {
      const reason = `one run took ${Math.round(cpuMs)} ms of CPU time`
      send({ kind: "finding", input: current.toString("base64"), reason })
    }
    current = input
    length.writeUInt32LE(input.length)
    writeSync(file, length, 0, 4, 0)
    writeSync(file, input, 0, input.length, 4)
    cpuUsage = process.cpuUsage()
  },
  onNew: (input) => {
    const isTooSlow = input.length > fileBytesMax || size + input.length > targetBytesMax
    if (files >= filesMax || isTooSlow) return
    files++
    size += input.length
    send({ kind: "new", input: input.toString("base64") })
  },
  onFinding: ({ input, reason }) =>
    send({ kind: "finding", input: input.toString("base64"), reason }),
})
await open.close()
send({ kind: "done", runs, outcomes, seconds: (performance.now() - startedAt) / 1000 })
process.disconnect?.()
process.exit()
