// What stands before the listener during a validation has a limit for everything strangers may do.
import { once } from "node:events"
import { createServer, connect as plain, type Server, type Socket } from "node:net"
import { connect } from "node:tls"
import { afterEach, beforeEach, expect, test } from "vitest"
import { type ManualClock, manualClock } from "../../src/kernel/clock.ts"
import { helloOf } from "../support/hello.ts"
import { asked, listening, opened, validated } from "../support/tls-alpn.ts"

const host = "id.example.com"
const validation = { servername: host, protocols: ["acme-tls/1"] }

let clock: ManualClock
let place: Awaited<ReturnType<typeof listening>>
let port: number
let end: () => void
beforeEach(async () => {
  clock = manualClock(Date.now())
  place = await listening(clock)
  port = place.listener.port
  end = await place.show({ host, token: "a", authorization: "a.b" })
})
afterEach(async () => {
  end()
  await place.listener.stop()
})

/**
 * Until what was sent before has arrived, on every connection of this process: bytes that are sent
 * later go to and fro several times meanwhile.
 */
async function turn(count = 8) {
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

/** Leads to the relay; `forward` says how what the client sends is passed on. */
function through(forward: (to: Socket, data: Buffer) => Promise<void> | void) {
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

/** Passes 40 bytes on, and the rest of what came with them once something has happened. */
function stallingAt(happens: () => Promise<void> | void) {
  let isFirst = true
  return through(async (to, data) => {
    if (!isFirst) return void to.write(data)
    isFirst = false
    to.write(data.subarray(0, 40))
    await turn()
    await happens()
    to.write(data.subarray(40))
  })
}

test("a ClientHello in many segments is put together", async () => {
  let segments = 0
  const split = through(async (to, data) => {
    for (let at = 0; at < data.length; at += 20) {
      to.write(data.subarray(at, at + 20))
      segments++
      await turn(1)
    }
  })
  expect(await validated(split.port)).toBe("acme-tls/1")
  expect(segments).toBeGreaterThan(10)
  split.stop()
})

test("who stalls is passed on when the time is over, with what has come", async () => {
  const stalling = stallingAt(async () => {
    clock.advance(4000)
    await turn()
    clock.advance(1001)
    await turn()
  })
  // It is the listener that answers, for by then nobody looks any more.
  expect(await validated(stalling.port)).toBe("none")
  stalling.stop()
})

test("what is no TLS, ends early or has no end is the listener's", async () => {
  const garbage = await opened(port, "GET / HTTP/1.1\r\n\r\n")
  await garbage.closed
  const record = Buffer.from([22, 3, 1, 0, 1, 1])
  const claims = Buffer.from([22, 3, 1, 0x20, 0, 1, 0, 0x1f, 0xfc])
  const endless = await opened(port, Buffer.concat([claims, Buffer.alloc(8192 - claims.length)]))
  const slow = await opened(port, record)
  slow.socket.end()
  await slow.closed
  const nothing = await opened(port)
  nothing.socket.destroy()
  expect(await asked(port)).toBe("127.0.0.1")
  endless.socket.destroy()
  await turn()
  // Nobody is looked at any more, and nobody's time is kept but that of who was passed on.
  expect(await validated(port)).toBe("acme-tls/1")
})

test("of too many who stall the first is passed on, and the authority comes through", async () => {
  const hello = await helloOf({ servername: "other.example.com" })
  const stalled = []
  for (let count = 0; count < 300; count++) {
    stalled.push(await opened(port, hello.subarray(0, 30)))
  }
  await turn()
  expect(await validated(port)).toBe("acme-tls/1")
  expect(await asked(port)).toBe("127.0.0.1")
  // 256 have their time; the others are not looked at any more, but watched for standing still.
  for (const { socket } of stalled) socket.destroy()
  await expect.poll(() => clock.pending()).toBe(0)
})

test("who validates and stays is closed, and so many may at once", async () => {
  const hello = await helloOf(validation)
  const all = []
  for (let count = 0; count < 64; count++) all.push(await opened(port, hello))
  await turn()
  const beyond = await opened(port, hello)
  await beyond.closed
  expect(await asked(port)).toBe("127.0.0.1")
  clock.advance(10_000)
  await Promise.all(all.map(({ closed }) => closed))
  expect(await validated(port)).toBe("acme-tls/1")
})

async function client() {
  const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false })
  socket.on("error", () => undefined)
  await new Promise<void>((done) => socket.once("secureConnect", () => done()))
  return socket
}

test("who stands still is closed, and nobody as long as something moves", async () => {
  const socket = await client()
  let isClosed = false
  socket.resume().on("close", () => {
    isClosed = true
  })
  for (let minute = 0; minute < 3; minute++) {
    socket.write("GET / HTTP/1.1\r\nhost: id.example.com\r\n\r\n")
    await turn()
    clock.advance(60_000)
    await turn()
    expect(isClosed).toBe(false)
  }
  clock.advance(60_000)
  await expect.poll(() => isClosed).toBe(true)
})

test("who reads no answer is closed, too", async () => {
  const socket = await client()
  const length = 16_000_000
  socket.write(`POST / HTTP/1.1\r\nhost: id.example.com\r\ncontent-length: ${length}\r\n\r\n`)
  await new Promise<void>((done) => void socket.write(Buffer.alloc(length), () => done()))
  let before = -1
  // Until nothing moves: more than the systems take is not sent.
  for (let read = 0; read !== before; read = socket.bytesRead) {
    before = read
    await turn(40)
  }
  clock.advance(60_000)
  await turn()
  expect(clock.pending()).toBe(1)
  // On a busy machine something may move once more after all.
  const pending = () => {
    clock.advance(60_000)
    return clock.pending()
  }
  await expect.poll(pending).toBe(0)
  socket.destroy()
})

test("who is looked at when it ends is passed on at once", async () => {
  const stalling = stallingAt(() => {
    end()
    clock.advance(3000)
  })
  expect(await asked(stalling.port)).toBe("127.0.0.1")
  stalling.stop()
})
