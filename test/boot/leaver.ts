// A process that serves HTTP and stops at SIGTERM, after a while if it is told so. It prints how
// many requests it began.
import { untilStopped } from "../../src/boot/stop.ts"
import { systemClock } from "../../src/kernel/clock.ts"
import type { App } from "../../src/server/app.ts"
import { listenHttp } from "../../src/server/listener.ts"

let begun = 0
const app: App = {
  published: (request) => {
    if (!request.url.endsWith("/published")) return undefined
    begun++
    return new Response("published")
  },
  answer: async () => {
    begun++
    // timer: an answer takes a while, so that many are under way at the stop
    await new Promise((done) => setTimeout(done, 20))
    return new Response("answered")
  },
  api: () => Promise.reject(new Error("nobody calls")),
  guarded: (_, response) => response,
  grpcHost: () => "",
  condition: { isReady: () => true, clock: systemClock },
}

const listener = listenHttp(
  app,
  { place: { host: "127.0.0.1", port: 0 }, certificates: [] },
  systemClock,
)
const stopped = untilStopped(systemClock, {
  drain: async () => {
    const ms = Number(process.argv[2] ?? 0)
    if (ms === 0) return
    listener.leave?.()
    await new Promise<void>((done) => void systemClock.after(ms, done))
  },
  stop: listener.stop,
})
console.log(listener.port)
const code = await stopped
console.log(`begun ${begun}`)
process.exit(code)
