import { closeSync, openSync } from "node:fs"
import { expect, test } from "vitest"
import { type Connection, openSockets, type Sockets } from "../../src/boot/system/sockets.ts"
import { closeExcess } from "../../src/server/edge/connections.ts"

const port = 8080

/** Sockets of existing connections from the given addresses. */
function socketsOf(peers: readonly (readonly [peer: string, count: number])[], max: number) {
  const open = new Map<number, Connection>()
  for (const [peer, count] of peers) {
    for (let each = 0; each < count; each++) open.set(10 + open.size, { peer, port })
  }
  const sockets: Sockets = {
    max: () => max,
    count: () => 10 + open.size,
    list: () => [...Array.from({ length: 10 }, (_, at) => at), ...open.keys()],
    connectionAt: (descriptor) => open.get(descriptor),
    end: (descriptor) => void open.delete(descriptor),
  }
  const held = (peer: string) => [...open.values()].filter((each) => each.peer === peer).length
  return { sockets, held }
}

const allPeers = () => true

test("an address can use a quarter of the descriptors, and others keep theirs", async () => {
  const { sockets, held } = socketsOf(
    [
      ["192.0.2.1", 400],
      ["192.0.2.2", 50],
    ],
    1000,
  )
  const ended = await closeExcess(sockets, allPeers)
  expect(ended).toEqual([{ network: "192.0.2.1", held: 400, count: 150 }])
  expect([held("192.0.2.1"), held("192.0.2.2")]).toEqual([250, 50])
})

test("the networks of one IPv6 customer count as one", async () => {
  const one = Array.from(
    { length: 40 },
    (_, at) => [`2001:db8:1:${at.toString(16)}::1`, 10] as const,
  )
  const { sockets } = socketsOf([...one, ["2001:db8:2::1", 50]], 1000)
  expect(await closeExcess(sockets, allPeers)).toMatchObject([{ held: 400, count: 150 }])
})

test("when descriptors run out, those with most lose theirs until there is room", async () => {
  const many = Array.from({ length: 8 }, (_, at) => [`192.0.2.${at}`, 110] as const)
  const { sockets, held } = socketsOf([...many, ["198.51.100.1", 6]], 1000)
  const before = sockets.count()
  await closeExcess(sockets, allPeers)
  expect(before).toBeGreaterThan(800)
  expect(sockets.count()).toBeLessThanOrEqual(700)
  expect(held("198.51.100.1")).toBe(6)
})

test("no connection is closed while there is room, or for exempt addresses", async () => {
  const { sockets } = socketsOf(
    [
      ["192.0.2.1", 240],
      ["10.0.0.1", 700],
    ],
    1000,
  )
  expect(await closeExcess(sockets, (peer) => peer !== "10.0.0.1")).toEqual([
    // Of 950 descriptors a few are reserved, and only this address can release any.
    { network: "192.0.2.1", held: 240, count: 232 },
  ])
  const few = socketsOf([["192.0.2.1", 240]], 1000).sockets
  expect(await closeExcess(few, allPeers)).toEqual([])
})

test("a connection is closed only while its descriptor still belongs to its address", async () => {
  const { sockets } = socketsOf([["192.0.2.1", 400]], 1000)
  const looked = new Map<number, number>()
  const changing: Sockets = {
    ...sockets,
    connectionAt: (descriptor) => {
      const times = (looked.get(descriptor) ?? 0) + 1
      looked.set(descriptor, times)
      return times > 1 ? { peer: "198.51.100.1", port } : sockets.connectionAt(descriptor)
    },
  }
  expect(await closeExcess(changing, allPeers)).toEqual([])
})

test.runIf(process.platform === "linux")("counts every descriptor", async () => {
  const sockets = await openSockets()
  const before = sockets?.count() ?? 0
  // Enough that other threads' descriptors don't matter.
  const open = Array.from({ length: 300 }, () => openSync("/dev/null", "r"))
  const after = sockets?.count() ?? 0
  for (const each of open) closeSync(each)
  expect(after - before).toBeGreaterThan(200)
  expect(after - before).toBeLessThan(400)
})

test.runIf(process.platform === "linux")("finds the sockets of a process", async () => {
  const sockets = await openSockets()
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("ok") })
  const closed = Promise.withResolvers<void>()
  const client = await Bun.connect({
    hostname: "127.0.0.1",
    port: server.port ?? 0,
    socket: { data: () => undefined, close: () => closed.resolve() },
  })
  client.write("GET / HTTP/1.1\r\nhost: a\r\n\r\n")
  const find = () =>
    sockets?.list().find((each) => {
      const connection = sockets.connectionAt(each)
      return connection?.port === server.port && connection?.peer === "127.0.0.1"
    })
  await expect.poll(find).toBeDefined()
  expect(sockets?.max()).toBeGreaterThan(sockets?.count() ?? 0)
  sockets?.end(find() ?? -1)
  await closed.promise
  await server.stop(true)
})
