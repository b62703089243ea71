// Fills an object with so many megabytes, and says how many bytes the process held at most beyond
// what it began with: filler.ts PLACE COUNT SETTINGS
import { randomBytes } from "node:crypto"
import { objectAt } from "../../../src/boot/backup/bucket.ts"
import { configFor } from "./house.ts"

const [place = "", count = "", settings = "{}"] = process.argv.slice(2)
const object = objectAt(place, configFor("nowhere", JSON.parse(settings)), false)
const some = randomBytes(1024 * 1024)
const before = process.memoryUsage.rss()
let peak = 0
const look = () => {
  peak = Math.max(peak, process.memoryUsage.rss() - before)
}
await object.fill(async (sink) => {
  for (let piece = 0; piece < Number(count); piece++) {
    await sink(some)
    look()
  }
})
let read = 0
for await (const bytes of await object.bytes()) {
  read += bytes.length
  look()
}
console.log(JSON.stringify({ peak, read }))
