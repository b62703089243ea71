// A process that serves HTTP and stops at SIGTERM. With the argument "drain" or "stop", that phase
// waits until /go-on is requested, however slow the machine is. Prints the number of other requests
// it received.
import { waitForStop } from "../../src/boot/stop.ts"
import { type Clock, systemClock } from "../../src/kernel/clock.ts"
import type { App } from "../../src/server/app.ts"
import { listenHttp } from "../../src/server/listener.ts"

const waitingPhase = process.argv[2]
const goOn = Promise.withResolvers<void>()

let requestCount = 0
const app: App = {
  publishedDocument: (request) => {
    if (request.url.endsWith("/go-on")) {
      goOn.resolve()
      return new Response("stopping")
    }
    if (!request.url.endsWith("/published")) return undefined
    requestCount++
    return new Response("published")
  },
  answer: async () => {
    requestCount++
    // timer: a response takes a while, so that many are in progress at the stop
    await new Promise((done) => setTimeout(done, 20))
    return new Response("answered")
  },
  api: () => Promise.reject(new Error("unexpected call")),
  guarded: (_, response) => response,
  grpcHost: () => "",
  condition: { isReady: () => true, clock: systemClock },
}

/** Clients that receive a request to close can still send a request during this time. */
const slowClock: Clock = {
  ...systemClock,
  after: (ms, call) => {
    let isStopped = false
    const callUnlessStopped = () => {
      if (!isStopped) call()
    }
    void goOn.promise.then(() => systemClock.after(ms, callUnlessStopped))
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
  waitingPhase === "stop" ? slowClock : systemClock,
)
const stopped = waitForStop(systemClock, {
  drain: async () => {
    if (waitingPhase !== "drain") return
    listener.startClosing?.()
    await goOn.promise
  },
  stop: listener.stop,
})
console.log(listener.port)
const code = await stopped
console.log(`begun ${requestCount}`)
process.exit(code)
