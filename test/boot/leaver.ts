// A process that serves HTTP and stops at SIGTERM. "drain" or "stop" as its argument has the drain
// or the stop wait until /go-on is requested, however slow the machine is. It prints how many other
// requests it began.
import { untilStopped } from "../../src/boot/stop.ts"
import { type Clock, systemClock } from "../../src/kernel/clock.ts"
import type { App } from "../../src/server/app.ts"
import { listenHttp } from "../../src/server/listener.ts"

const waiting = process.argv[2]
const toldToGoOn = Promise.withResolvers<void>()

let begun = 0
const app: App = {
  published: (request) => {
    if (request.url.endsWith("/go-on")) {
      toldToGoOn.resolve()
      return new Response("stopping")
    }
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

/** The time in which clients that are told to close still send a request. */
const parting: Clock = {
  ...systemClock,
  after: (ms, call) => {
    let isStopped = false
    const callUnlessStopped = () => {
      if (!isStopped) call()
    }
    void toldToGoOn.promise.then(() => systemClock.after(ms, callUnlessStopped))
    return {
      stop: () => {
        isStopped = true
      },
    }
  },
}

const listener = listenHttp(
  app,
  { place: { host: "127.0.0.1", port: 0 }, certificates: [] },
  waiting === "stop" ? parting : systemClock,
)
const stopped = untilStopped(systemClock, {
  drain: async () => {
    if (waiting !== "drain") return
    listener.leave?.()
    await toldToGoOn.promise
  },
  stop: listener.stop,
})
console.log(listener.port)
const code = await stopped
console.log(`begun ${begun}`)
process.exit(code)
