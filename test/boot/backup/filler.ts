// Writes an object of the given number of megabytes, and prints the peak memory growth of the
// process in bytes: filler.ts PLACE COUNT SETTINGS
import { randomBytes } from "node:crypto"
import { objectAt } from "../../../src/boot/backup/bucket.ts"
import { configFor } from "./house.ts"

const [place = "", count = "", settings = "{}"] = process.argv.slice(2)
const object = objectAt(place, configFor("nowhere", JSON.parse(settings)), false)
const chunk = randomBytes(1024 * 1024)
const startBytes = process.memoryUsage.rss()
let peakBytes = 0
const recordPeak = () => {
  peakBytes = Math.max(peakBytes, process.memoryUsage.rss() - startBytes)
}
await object.write(async (sink) => {
  for (let piece = 0; piece < Number(count); piece++) {
    await sink(chunk)
    recordPeak()
  }
})
let bytesRead = 0
for await (const bytes of await object.bytes()) {
  bytesRead += bytes.length
  recordPeak()
}
console.log(JSON.stringify({ peak: peakBytes, read: bytesRead }))
