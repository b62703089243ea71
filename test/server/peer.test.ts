// The address that a request counts against, even after the client has left, and errors outside the
// app.
import { once } from "node:events"
import { connect } from "node:net"
import { expect, test } from "vitest"
import { originOf } from "../../src/http/origin.ts"
import { systemClock } from "../../src/kernel/clock.ts"
import { createIds } from "../../src/kernel/id.ts"
import type { App } from "../../src/server/app.ts"
import { listenHttp } from "../../src/server/listener.ts"
import { pause } from "../support/wait.ts"

const server = { ids: createIds(systemClock), isProxy: () => false }

/** An app with a fixed response. */
const appOf = (answer: App["answer"]): App => ({
  publishedDocument: () => undefined,
  answer,
  api: () => Promise.reject(new Error("unexpected call")),
  guarded: (_, response) => response,
  grpcHost: () => "",
  condition: { isReady: () => true, clock: systemClock },
})

const place = { host: "127.0.0.1", port: 0 }
const requestHead = "POST /ui/login/password HTTP/1.1\r\nhost: id.test\r\n"

test("an address is known even after the client has gone during an attempt", async () => {
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
    socket.write(`${requestHead}content-length: 0\r\n\r\n`)
    expect(await known.promise).toBe("127.0.0.1")
  } finally {
    socket.destroy()
    await listener.stop()
  }
})

test("an address is known even if the client sends everything at once and disconnects", async () => {
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
      socket.end(`${requestHead}content-length: 5\r\n\r\nhello`)
    }
    await all.promise
    expect(known).toEqual(Array(senders).fill("127.0.0.1"))
  } finally {
    await listener.stop()
  }
})

test("an unhandled error of the app is not revealed", async () => {
  const app = appOf(() => Promise.reject(new Error("the secret is 42")))
  const listener = listenHttp(app, { place, certificates: [] }, systemClock)
  try {
    const answer = await fetch(`http://127.0.0.1:${listener.port}/ui/login`)
    expect(answer.status).toBe(500)
    const text = await answer.text()
    expect(text).toContain("an internal error occurred")
    expect(text).not.toContain("42")
  } finally {
    await listener.stop()
  }
})
