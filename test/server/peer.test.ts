// Whom a request is counted against, also where nobody waits for the answer any more.
import { once } from "node:events"
import { connect } from "node:net"
import { expect, test } from "vitest"
import { systemClock } from "../../src/kernel/clock.ts"
import { idsOf } from "../../src/kernel/id.ts"
import type { App } from "../../src/server/app.ts"
import { listenHttp } from "../../src/server/listener.ts"
import { originOf } from "../../src/server/origin.ts"

const server = { ids: idsOf(systemClock), isProxy: () => false }

test("an address is known still once the client has gone in the middle of a try", async () => {
  const known = Promise.withResolvers<string>()
  const app: App = {
    published: () => undefined,
    answer: async (request, peer) => {
      const origin = originOf(server, request, peer)
      socket.destroy()
      await once(request.signal, "abort")
      known.resolve(origin.address)
      return new Response()
    },
    api: () => Promise.reject(new Error("nobody calls")),
    guarded: (_, response) => response,
    grpcHost: () => "",
    condition: { isReady: () => true, clock: systemClock },
  }
  const place = { host: "127.0.0.1", port: 0 }
  const listener = listenHttp(app, { place, certificates: [] }, systemClock)
  const socket = connect(listener.port, "127.0.0.1")
  try {
    socket.write("POST /ui/login/password HTTP/1.1\r\nhost: id.test\r\ncontent-length: 0\r\n\r\n")
    expect(await known.promise).toBe("127.0.0.1")
  } finally {
    socket.destroy()
    await listener.stop()
  }
})
