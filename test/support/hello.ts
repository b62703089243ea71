import { createServer, type Socket } from "node:net"
import { connect } from "node:tls"

type Asked = { readonly servername?: string; readonly protocols?: readonly string[] }

/** What a TLS client begins with, as it came over the wire. */
export async function helloOf({ servername = "", protocols = [] }: Asked): Promise<Buffer> {
  const { promise, resolve } = Promise.withResolvers<Buffer>()
  const server = createServer((socket: Socket) => socket.once("data", resolve))
  server.listen(0, "127.0.0.1")
  const bound = server.address()
  const client = connect({
    host: "127.0.0.1",
    port: typeof bound === "object" && bound ? bound.port : 0,
    servername,
    rejectUnauthorized: false,
    ALPNProtocols: [...protocols],
  })
  client.on("error", () => undefined)
  const hello = await promise
  client.destroy()
  server.close()
  return hello
}
