// A process that stops according to its argument: immediately, never, or with an error.
import { formatFailure } from "../../src/boot/start-error.ts"
import { waitForStop } from "../../src/boot/stop.ts"
import { systemClock } from "../../src/kernel/clock.ts"

const mode = process.argv[2]
// timer: keeps the process alive
setInterval(() => {}, 1000)
// Time runs a hundred times faster here.
const clock = {
  ...systemClock,
  after: (ms: number, call: () => void) => systemClock.after(ms / 100, call),
}

async function drain(): Promise<void> {
  console.log("draining")
  if (mode === "drains") await new Promise(() => {})
}

async function stop(): Promise<void> {
  console.log("stopping")
  if (mode === "fails") throw new Error("the disk failed")
  if (mode === "late" || mode === "stuck") await new Promise(() => {})
  console.log("stopped")
}

try {
  const stopped = waitForStop(mode === "late" ? clock : systemClock, { drain, stop })
  console.log("ready")
  process.exit(await stopped)
} catch (error) {
  console.error(formatFailure(error))
  process.exit(1)
}
