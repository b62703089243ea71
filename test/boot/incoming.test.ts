import { connect, type Socket } from "node:net"
import { afterEach, describe, expect, test } from "vitest"
import { ignoreNewConnections } from "../../src/boot/system/incoming.ts"
import { pause, until } from "../support/wait.ts"

const opened: { readonly close: () => unknown }[] = []
afterEach(() => {
  for (const { close } of opened.splice(0)) close()
})

function serve(hostname: string): number {
  const server = Bun.serve({ hostname, port: 0, fetch: () => new Response("answered") })
  opened.push({ close: () => server.stop(true) })
  return server.port ?? 0
}

function connection(port: number, host: string) {
  const socket: Socket = connect(port, host)
  let [isOpen, received] = [false, ""]
  socket.on("connect", () => {
    isOpen = true
  })
  socket.on("data", (chunk) => {
    received += chunk
  })
  socket.on("error", () => undefined)
  opened.push({ close: () => socket.destroy() })
  return {
    isOpen: () => isOpen,
    ask: async () => {
      const before = received.split("answered").length
      socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
      await until(() => received.split("answered").length > before)
    },
  }
}

describe.runIf(process.platform === "linux")("a port that is about to close", () => {
  test.each(["127.0.0.1", "::1"])(
    "rejects new connections at %s and serves existing ones",
    async (host) => {
      const [port, other] = [serve(host), serve(host)]
      const before = connection(port, host)
      await before.ask()
      expect(await ignoreNewConnections(port)).toBe(true)
      const late = connection(port, host)
      const elsewhere = connection(other, host)
      await until(elsewhere.isOpen)
      await pause(200, "nothing signals that a connection does not open")
      expect(late.isOpen()).toBe(false)
      await before.ask()
    },
  )

  test("keeps accepting connections if the system library can't be loaded", async () => {
    const port = serve("127.0.0.1")
    expect(await ignoreNewConnections(port, () => "/nonexistent/libc.so")).toBe(false)
    const late = connection(port, "127.0.0.1")
    await until(late.isOpen)
    await late.ask()
  })
})
