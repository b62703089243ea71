import { createServer, type Socket } from "node:net"
import { connect } from "node:tls"

type HelloOptions = { readonly servername?: string; readonly protocols?: readonly string[] }

/** The raw ClientHello of a TLS client. */
export async function createClientHello({
  servername = "",
  protocols = [],
}: HelloOptions): Promise<Buffer> {
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
