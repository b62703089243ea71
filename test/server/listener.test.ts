// Limits of one HTTP/2 connection, tested with frames that no client library would send.
import { connect, type Socket } from "node:net"
import { afterAll, afterEach, beforeAll, expect, test } from "vitest"
// Otherwise loaded with the first call, which this test does not measure.
import "../../src/api/encoding/grpc.ts"
import { manualClock } from "../../src/kernel/clock.ts"
import { type Listener, listenGrpc } from "../../src/server/listener.ts"
import { worldOf } from "../api/world.ts"
import { loopTurns, until } from "../support/wait.ts"

let startedCalls = 0
const world = worldOf({}, { hooks: [{ started: () => void startedCalls++ }] })

let listener: Listener
beforeAll(async () => {
  const parts = {
    api: async () => ({
      entries: world.entries,
      answer: async () => undefined,
      description: async () => new Response(),
    }),
    grpcHost: (authority: string) => authority,
    condition: { isReady: () => true, clock: manualClock(0) },
  }
  listener = await listenGrpc(parts, { host: "127.0.0.1", port: 0 })
})
afterAll(() => listener.stop())

const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets) socket.destroy()
})

/** The number of started calls; one more on a separate connection comes after all of them. */
async function countCalls(): Promise<number> {
  const before = startedCalls
  await openConnection().send([openingFrame(1)])
  await until(() => startedCalls > before)
  await loopTurns()
  const count = startedCalls - 1
  startedCalls = 0
  return count
}

const types = { headers: 1, reset: 3, settings: 4, ping: 6, away: 7 }
const ackFlag = 1

function frame(type: number, flags: number, stream: number, payload = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** RFC 7541: a field whose name is in the static table. */
const field = (name: number, value: string) =>
  Buffer.concat([Buffer.from([name, value.length]), Buffer.from(value)])

const [methodPost, schemeHttp, path, authority, type] = [0x83, 0x86, 0x04, 0x01, 0x0f10]
const requestHeaders = Buffer.concat([
  Buffer.from([methodPost, schemeHttp]),
  field(path, "/core.user.v2.UserService/ListUsers"),
  field(authority, "id.test"),
  Buffer.concat([Buffer.from([type >> 8, type & 0xff, 16]), Buffer.from("application/grpc")]),
])

const cancelCode = Buffer.from([0, 0, 0, 8])
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

type Frame = { readonly type: number; readonly flags: number; readonly payload: Buffer }

/** A separate connection. */
function openConnection() {
  const socket = connect(listener.port, "127.0.0.1")
  sockets.push(socket)
  let bytes = Buffer.alloc(0)
  const came: Frame[] = []
  let heard = Promise.withResolvers<void>()
  socket.on("data", (data: Buffer) => {
    bytes = Buffer.concat([bytes, data])
    while (bytes.length >= 9 && bytes.length >= 9 + bytes.readUIntBE(0, 3)) {
      const end = 9 + bytes.readUIntBE(0, 3)
      const [type = 0, flags = 0] = bytes.subarray(3, 5)
      came.push({ type, flags, payload: bytes.subarray(9, end) })
      bytes = bytes.subarray(end)
    }
    heard.resolve()
  })
  const closed = new Promise<void>((done) => socket.once("close", () => done()))
  const errors: Error[] = []
  socket.on("error", (error) => errors.push(error))
  socket.write(Buffer.concat([preface, frame(types.settings, 0, 0)]))

  /** Waits until data arrives or the connection is closed. */
  const waitUntil = async (has: () => boolean) => {
    while (!has() && !socket.closed) {
      heard = Promise.withResolvers()
      await Promise.race([heard.promise, closed])
    }
  }
  const away = () => came.find(({ type }) => type === types.away)?.payload
  const goodbye = () => away()?.readUInt32BE(4)
  let pings = 0
  const pongs = () => came.filter(({ type, flags }) => type === types.ping && flags === ackFlag)
  return {
    goodbye,
    lastStream: () => away()?.readUInt32BE(0),
    closed,
    errors,
    /** Sends frames in one write; resolves when the server has read them or sent GOAWAY. */
    send: async (frames: readonly Buffer[]) => {
      const ping = frame(types.ping, 0, 0, Buffer.alloc(8))
      socket.write(Buffer.concat([...frames, ping]))
      pings++
      await waitUntil(() => pongs().length === pings || goodbye() !== undefined)
    },
  }
}

/**
 * Opens streams, a few at a time, until the server sends GOAWAY. Sending more to a closed
 * connection would reset it and discard the GOAWAY, so this stops first.
 */
async function openUntilGoodbye(framesOf: (id: number) => readonly Buffer[]) {
  const connection = openConnection()
  const began = performance.now()
  let count = 0
  while (connection.goodbye() === undefined && count < 5000) {
    const ids = Array.from({ length: batchSize }, (_, at) => 2 * (count + at) + 1)
    await connection.send(ids.flatMap(framesOf))
    count += batchSize
  }
  await connection.closed
  const seconds = (performance.now() - began) / 1000
  return { reason: connection.goodbye(), errors: connection.errors, count, seconds }
}
const batchSize = 10

const enhanceYourCalm = 11
const openingFrame = (id: number) => frame(types.headers, 4, id, requestHeaders)

test("a peer is told to use another connection, and served until then", async () => {
  const connection = openConnection()
  await connection.send([openingFrame(1)])
  await until(() => startedCalls === 1)
  listener.startClosing?.()
  await until(() => connection.goodbye() !== undefined)
  expect([connection.goodbye(), connection.lastStream()]).toEqual([0, 2 ** 31 - 1])
  await connection.send([openingFrame(3)])
  await until(() => startedCalls === 2)
  startedCalls = 0
  // New connections are served, too.
  expect(await countCalls()).toBe(0)
})

test("a peer that only opens and resets streams is disconnected after a hundred", async () => {
  const { reason, errors, count, seconds } = await openUntilGoodbye((id) => [
    openingFrame(id),
    frame(types.reset, 0, id, cancelCode),
  ])
  expect([reason, errors]).toEqual([enhanceYourCalm, []])
  // Plus twenty for each elapsed second.
  expect(count).toBeGreaterThan(100)
  expect(count).toBeLessThanOrEqual(100 + Math.ceil(20 * seconds) + batchSize)
  // A call that was reset by then does not start, unless its frame arrived in two pieces.
  expect(await countCalls()).toBeLessThanOrEqual(batchSize)
})

test("a peer that opens too many concurrent streams is disconnected", async () => {
  const { reason, errors, count } = await openUntilGoodbye((id) => [openingFrame(id)])
  expect([reason, errors]).toEqual([enhanceYourCalm, []])
  // A hundred are open, and as many again rejected.
  expect(count).toBeGreaterThan(100)
  expect(count).toBeLessThanOrEqual(200 + batchSize)
  expect(await countCalls()).toBeLessThanOrEqual(100)
})
