// The host of a native gRPC call; written by hand, because gRPC clients send only one host.
import { once } from "node:events"
import { connect, type OutgoingHttpHeaders } from "node:http2"
import { expect, test } from "vitest"
import { grpcServer } from "../../src/api/encoding/grpc.ts"
import { contextOf, worldOf } from "./world.ts"

/** Calls a public operation; returns the status and the host that the call was for. */
async function callPublicMethod(headers: OutgoingHttpHeaders) {
  const hosts: (string | null)[] = []
  const { entries } = worldOf(
    {},
    {
      authenticate: async (input, { requestId }) => {
        hosts.push(input.get("host"))
        return contextOf(null, { requestId })
      },
    },
  )
  const server = grpcServer(() => entries, { hostOf: (authority) => `public ${authority}` })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  const port = typeof address === "object" && address ? address.port : 0
  const client = connect(`http://127.0.0.1:${port}`)
  const stream = client.request({
    ":method": "POST",
    ":path": "/core.system.v1.SystemService/Healthz",
    "content-type": "application/grpc",
    te: "trailers",
    ...headers,
  })
  stream.end(Buffer.alloc(5))
  const [answer] = await once(stream, "response")
  stream.resume()
  await once(stream, "close")
  client.close()
  server.close()
  return [answer[":status"], ...hosts]
}

test.each<[string, OutgoingHttpHeaders, readonly unknown[]]>([
  [":authority says it", { ":authority": "id.example.com:8081" }, [200, "id.example.com:8081"]],
  ["Host, where it stands alone", { host: "id.example.com" }, [200, "id.example.com"]],
  [
    "a Host that repeats it changes nothing",
    { ":authority": "id.example.com", host: "ID.example.com" },
    [200, "id.example.com"],
  ],
  ["another Host is refused", { ":authority": "id.example.com", host: "other.example.com" }, [400]],
  [
    "another port is another host",
    { ":authority": "id.example.com", host: "id.example.com:1" },
    [400],
  ],
])("RFC 9113 \u00a78.3.1: %s", async (_, headers, [status, host]) => {
  expect(await callPublicMethod(headers)).toEqual(host ? [status, `public ${host}`] : [status])
})
