// Whom a request is counted against, also where nobody waits any more, and what fails at the door.
import { once } from "node:events"
import { connect } from "node:net"
import { expect, test } from "vitest"
import { originOf } from "../../src/http/origin.ts"
import { systemClock } from "../../src/kernel/clock.ts"
import { idsOf } from "../../src/kernel/id.ts"
import type { App } from "../../src/server/app.ts"
import { listenHttp } from "../../src/server/listener.ts"
import { pause } from "../support/wait.ts"

const server = { ids: idsOf(systemClock), isProxy: () => false }

/** An app that answers as told, and nothing but that. */
const appOf = (answer: App["answer"]): App => ({
  published: () => undefined,
  answer,
  api: () => Promise.reject(new Error("nobody calls")),
  guarded: (_, response) => response,
  grpcHost: () => "",
  condition: { isReady: () => true, clock: systemClock },
})

const place = { host: "127.0.0.1", port: 0 }
const head = "POST /ui/login/password HTTP/1.1\r\nhost: id.test\r\n"

test("an address is known still once the client has gone in the middle of a try", async () => {
  const known = Promise.withResolvers<string>()
  const app = appOf(async (request, peer) => {
    const origin = originOf(server, request, peer)
    socket.destroy()
    await once(request.signal, "abort")
    known.resolve(origin.address)
    return new Response()
  })
  const listener = listenHttp(app, { place, certificates: [] }, systemClock)
  const socket = connect(listener.port, "127.0.0.1")
  try {
    socket.write(`${head}content-length: 0\r\n\r\n`)
    expect(await known.promise).toBe("127.0.0.1")
  } finally {
    socket.destroy()
    await listener.stop()
  }
})

test("also where the client sends all it has to say at once, and is gone", async () => {
  const senders = 50
  const known: string[] = []
  const all = Promise.withResolvers<void>()
  const app = appOf(async (request, peer) => {
    const origin = originOf(server, request, peer)
    await request.text()
    await pause(20, "nothing signals that the server has met the end of the client")
    known.push(origin.address)
    if (known.length === senders) all.resolve()
    return new Response()
  })
  const listener = listenHttp(app, { place, certificates: [] }, systemClock)
  try {
    for (let count = 0; count < senders; count++) {
      const socket = connect(listener.port, "127.0.0.1")
      socket.on("error", () => undefined)
      socket.end(`${head}content-length: 5\r\n\r\nhello`)
    }
    await all.promise
    expect(known).toEqual(Array(senders).fill("127.0.0.1"))
  } finally {
    await listener.stop()
  }
})

test("an error that the app did not turn into an answer keeps its words to itself", async () => {
  const app = appOf(() => Promise.reject(new Error("the secret is 42")))
  const listener = listenHttp(app, { place, certificates: [] }, systemClock)
  try {
    const answer = await fetch(`http://127.0.0.1:${listener.port}/ui/login`)
    expect(answer.status).toBe(500)
    const text = await answer.text()
    expect(text).toContain("something went wrong")
    expect(text).not.toContain("42")
  } finally {
    await listener.stop()
  }
})
