// A process that claims the given directory, prints the result, and runs until it is killed.

import { serveControl } from "../../src/boot/control.ts"
import { claimFolder } from "../../src/boot/folder/claim.ts"
import { parseConfig } from "../../src/kernel/config.ts"
import { systemRandom } from "../../src/kernel/crypto/random.ts"

const [data = "", mode] = process.argv.slice(2)
const started = performance.now()
try {
  const config = parseConfig({ flags: { "--data": data }, env: {}, file: {} })
  const { folder, master } = await claimFolder(config, systemRandom)
  if (mode === "control") serveControl(folder, { status: async () => "here" }, console.error)
  console.log(`owner ${Buffer.from(master).toString("hex")}`)
  // timer: keeps the process alive
  setInterval(() => {}, 1000)
} catch (error) {
  const took = Math.round(performance.now() - started)
  console.log(`refused after ${took} ms: ${error instanceof Error ? error.message : error}`)
  process.exit(1)
}
