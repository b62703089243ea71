// A Node program that calls an operation by connect-node over HTTP/1.1 repeatedly, with a large
// body. Prints the number of each outcome as JSON.
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf"
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt"
import { ConnectError, createClient } from "@connectrpc/connect"
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-node"

const { baseUrl, protocol, files, typeName, method, request, calls, atOnce } = JSON.parse(
  process.argv[2],
)

const set = fromBinary(FileDescriptorSetSchema, Buffer.from(files, "base64"))
const service = createFileRegistry(set).getService(typeName)
const withAuthorization = (next) => (message) => {
  message.header.set("authorization", "Bearer an-old-token")
  return next(message)
}
const options = { baseUrl, httpVersion: "1.1", interceptors: [withAuthorization] }
const transport =
  protocol === "grpc-web" ? createGrpcWebTransport(options) : createConnectTransport(options)
const client = createClient(service, transport)

const padded = { ...request, ...(request.padding && { name: "x".repeat(request.padding) }) }
delete padded.padding

const outcomes = {}
const call = async () => {
  const outcome = await client[method](padded).then(
    () => "answered",
    (cause) => {
      const { code, rawMessage } = ConnectError.from(cause)
      return code === 16 ? "unauthenticated" : `${code}: ${rawMessage}`
    },
  )
  outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
}
const each = async () => {
  for (let i = 0; i < calls / atOnce; i++) await call()
}
await Promise.all(Array.from({ length: atOnce }, each))
process.stdout.write(JSON.stringify(outcomes))
