// Limits of the relay in front of the listener during a validation.
import { once } from "node:events"
import { createServer, connect as plain, type Server, type Socket } from "node:net"
import { connect } from "node:tls"
import { afterEach, beforeEach, expect, test } from "vitest"
import { type ManualClock, manualClock } from "../../src/kernel/clock.ts"
import { createClientHello } from "../support/client-hello.ts"
import { openRaw, requestOnce, startListener, validateHost } from "../support/tls-alpn.ts"

const host = "id.example.com"
const validation = { servername: host, protocols: ["acme-tls/1"] }

let clock: ManualClock
let startRelay: Awaited<ReturnType<typeof startListener>>
let port: number
let endValidation: () => void
beforeEach(async () => {
  clock = manualClock(Date.now())
  startRelay = await startListener(clock)
  port = startRelay.listener.port
  endValidation = await startRelay.show({ host, token: "a", authorization: "a.b" })
})
afterEach(async () => {
  endValidation()
  await startRelay.listener.stop()
})

/**
 * Waits until previously sent data has arrived on every connection of this process: later bytes
 * make several round trips.
 */
async function waitForArrival(count = 8) {
  const echo = createServer((socket) => socket.pipe(socket)).listen(0, "127.0.0.1")
  const bound = echo.address()
  const socket = plain(typeof bound === "object" && bound ? bound.port : 0, "127.0.0.1")
  for (let exchange = 0; exchange < count; exchange++) {
    const heard = once(socket, "data")
    socket.write("x")
    await heard
  }
  socket.destroy()
  echo.close()
}

/** Connects to the relay; `forward` controls how client data is passed on. */
function connectVia(forward: (to: Socket, data: Buffer) => Promise<void> | void) {
  const server: Server = createServer((socket) => {
    const to = plain({ host: "127.0.0.1", port, noDelay: true })
    let before: Promise<void> | void
    socket.on("data", (data: Buffer) => {
      before = Promise.resolve(before).then(() => forward(to, data))
    })
    to.on("data", (data: Buffer) => socket.write(data))
    to.on("close", () => socket.destroy())
    socket.on("close", () => to.destroy())
    for (const each of [socket, to]) each.on("error", () => undefined)
  })
  server.listen(0, "127.0.0.1")
  const bound = server.address()
  return { port: typeof bound === "object" && bound ? bound.port : 0, stop: () => server.close() }
}

/** Passes on 40 bytes, and the rest after an event. */
function stallUntil(happens: () => Promise<void> | void) {
  let isFirst = true
  return connectVia(async (to, data) => {
    if (!isFirst) return void to.write(data)
    isFirst = false
    to.write(data.subarray(0, 40))
    await waitForArrival()
    await happens()
    to.write(data.subarray(40))
  })
}

test("reassembles a ClientHello from many segments", async () => {
  let segments = 0
  const split = connectVia(async (to, data) => {
    for (let at = 0; at < data.length; at += 20) {
      to.write(data.subarray(at, at + 20))
      segments++
      await waitForArrival(1)
    }
  })
  expect(await validateHost(split.port)).toBe("acme-tls/1")
  expect(segments).toBeGreaterThan(10)
  split.stop()
})

test("a stalled connection is passed on after the time limit, with the data so far", async () => {
  const stalling = stallUntil(async () => {
    clock.advance(4000)
    await waitForArrival()
    clock.advance(1001)
    await waitForArrival()
  })
  // The listener responds, because the relay no longer inspects the connection.
  expect(await validateHost(stalling.port)).toBe("none")
  stalling.stop()
})

test("a connection without TLS, or with an early or missing end, goes to the listener", async () => {
  const garbage = await openRaw(port, "GET / HTTP/1.1\r\n\r\n")
  await garbage.closed
  const record = Buffer.from([22, 3, 1, 0, 1, 1])
  const claims = Buffer.from([22, 3, 1, 0x20, 0, 1, 0, 0x1f, 0xfc])
  const endless = await openRaw(port, Buffer.concat([claims, Buffer.alloc(8192 - claims.length)]))
  const slow = await openRaw(port, record)
  slow.socket.end()
  await slow.closed
  const nothing = await openRaw(port)
  nothing.socket.destroy()
  expect(await requestOnce(port)).toBe("127.0.0.1")
  endless.socket.destroy()
  await waitForArrival()
  // Nothing is inspected any more, and only the time of the passed on connection is tracked.
  expect(await validateHost(port)).toBe("acme-tls/1")
})

test("of too many stalled connections the first is passed on, and the authority connects", async () => {
  const hello = await createClientHello({ servername: "other.example.com" })
  const stalled = []
  for (let count = 0; count < 300; count++) {
    stalled.push(await openRaw(port, hello.subarray(0, 30)))
  }
  await waitForArrival()
  expect(await validateHost(port)).toBe("acme-tls/1")
  expect(await requestOnce(port)).toBe("127.0.0.1")
  // 256 have a time limit; the others are not inspected any more, but watched for inactivity.
  for (const { socket } of stalled) socket.destroy()
  await expect.poll(() => clock.pending()).toBe(0)
})

test("idle validation connections are closed, and their number is limited", async () => {
  const hello = await createClientHello(validation)
  const all = []
  for (let count = 0; count < 64; count++) all.push(await openRaw(port, hello))
  await waitForArrival()
  const beyond = await openRaw(port, hello)
  await beyond.closed
  expect(await requestOnce(port)).toBe("127.0.0.1")
  clock.advance(10_000)
  await Promise.all(all.map(({ closed }) => closed))
  expect(await validateHost(port)).toBe("acme-tls/1")
})

async function connectClient() {
  const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false })
  socket.on("error", () => undefined)
  await new Promise<void>((done) => socket.once("secureConnect", () => done()))
  return socket
}

test("an inactive connection is closed, an active one is not", async () => {
  const socket = await connectClient()
  let isClosed = false
  socket.resume().on("close", () => {
    isClosed = true
  })
  for (let minute = 0; minute < 3; minute++) {
    socket.write("GET / HTTP/1.1\r\nhost: id.example.com\r\n\r\n")
    await waitForArrival()
    clock.advance(60_000)
    await waitForArrival()
    expect(isClosed).toBe(false)
  }
  clock.advance(60_000)
  await expect.poll(() => isClosed).toBe(true)
})

test("a client that reads no response is disconnected, too", async () => {
  const socket = await connectClient()
  const length = 16_000_000
  socket.write(`POST / HTTP/1.1\r\nhost: id.example.com\r\ncontent-length: ${length}\r\n\r\n`)
  await new Promise<void>((done) => void socket.write(Buffer.alloc(length), () => done()))
  let before = -1
  // Until nothing moves: the systems' buffers are full.
  for (let read = 0; read !== before; read = socket.bytesRead) {
    before = read
    await waitForArrival(40)
  }
  clock.advance(60_000)
  await waitForArrival()
  expect(clock.pending()).toBe(1)
  // On a busy machine more data can move later.
  const pending = () => {
    clock.advance(60_000)
    return clock.pending()
  }
  await expect.poll(pending).toBe(0)
  socket.destroy()
})

test("an inspected connection is passed on immediately when the relay ends", async () => {
  const stalling = stallUntil(() => {
    endValidation()
    clock.advance(3000)
  })
  expect(await requestOnce(stalling.port)).toBe("127.0.0.1")
  stalling.stop()
})
