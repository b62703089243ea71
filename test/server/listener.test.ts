// What one HTTP/2 connection may ask for, in frames that no client library would send.
import { connect, type Socket } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, afterEach, beforeAll, expect, test } from "vitest"
// Loaded with the first call otherwise, and here that is not what is looked at.
import "../../src/api/grpc.ts"
import { manualClock } from "../../src/kernel/clock.ts"
import { type Listener, listenGrpc } from "../../src/server/listener.ts"
import { worldOf } from "../api/world.ts"

let started = 0
const world = worldOf({}, { hooks: [{ started: () => void started++ }] })

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

/** How many calls have begun, when no more begin. */
async function calls(): Promise<number> {
  for (let before = -1; before !== started; await sleep(100)) before = started
  const count = started
  started = 0
  return count
}

const types = { data: 0, headers: 1, reset: 3, settings: 4, away: 7 }

function frame(type: number, flags: number, stream: number, payload = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** RFC 7541: a field whose name stands in the static table. */
const field = (name: number, value: string) =>
  Buffer.concat([Buffer.from([name, value.length]), Buffer.from(value)])

const [methodPost, schemeHttp, path, authority, type] = [0x83, 0x86, 0x04, 0x01, 0x0f10]
const asked = Buffer.concat([
  Buffer.from([methodPost, schemeHttp]),
  field(path, "/core.user.v2.UserService/ListUsers"),
  field(authority, "id.test"),
  Buffer.concat([Buffer.from([type >> 8, type & 0xff, 16]), Buffer.from("application/grpc")]),
])

const cancel = Buffer.from([0, 0, 0, 8])
const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

/** Sends frames on a connection of their own; answers how it ended, as the last GOAWAY says. */
function sent(frames: readonly Buffer[]): Promise<number | undefined> {
  const socket = connect(listener.port, "127.0.0.1")
  sockets.push(socket)
  let bytes = Buffer.alloc(0)
  const { promise, resolve } = Promise.withResolvers<number | undefined>()
  const reason = () => {
    let last: number | undefined
    for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
      if (bytes[at + 3] === types.away) last ??= bytes.readUInt32BE(at + 13)
    }
    return last
  }
  socket.on("data", (data: Buffer) => {
    bytes = Buffer.concat([bytes, data])
  })
  socket.on("error", () => {})
  socket.on("close", () => resolve(reason()))
  socket.write(Buffer.concat([preface, frame(types.settings, 0, 0), ...frames]))
  return promise
}

const streams = (count: number, of: (id: number) => readonly Buffer[]) =>
  Array.from({ length: count }, (_, at) => of(2 * at + 1)).flat()

const enhanceYourCalm = 11

/** Whoever still sends when the connection is closed may find it reset, and the reason with it. */
const goodbyes = [enhanceYourCalm, undefined]

test("who opens streams only to reset them is sent away after a hundred", async () => {
  const reset = (id: number) => [
    frame(types.headers, 4, id, asked),
    frame(types.reset, 0, id, cancel),
  ]
  expect(goodbyes).toContain(await sent(streams(5000, reset)))
  const count = await calls()
  expect(count).toBeGreaterThan(0)
  // And twenty for each second that it took.
  expect(count).toBeLessThan(500)
})

test("who opens more streams at once than they may is sent away", async () => {
  const open = (id: number) => [frame(types.headers, 4, id, asked)]
  expect(goodbyes).toContain(await sent(streams(5000, open)))
  expect(await calls()).toBeLessThanOrEqual(100)
})
