import type { DescMethod, DescMethodUnary, Message } from "@bufbuild/protobuf"
import {
  type Code,
  ConnectError,
  type ConnectRouter,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from "@connectrpc/connect"
import type { Compression, UniversalServerRequest } from "@connectrpc/connect/protocol"
import { compressionGzip } from "@connectrpc/connect-node"
import type { Fault } from "../../kernel/fault.ts"
import type { CallMetadata, Encoding, Entry } from "../dispatch.ts"
import { grpcNumber, textOf } from "../faults.ts"
import { mediaTypeOf } from "../input/body.ts"
import { decodeBinary, decodeJson } from "../input/decode.ts"
import { detailMessages } from "./detail.ts"

/** The transport's information about the peer, passed through connect-es to the dispatcher. */
export type Peer = {
  readonly address: string
  /** The requested host, if it is not sent as a header. */
  readonly host?: string | undefined
}

/** The peer and a function that reads the message when the dispatcher needs it. */
type IncomingCall = Peer & { readonly message: (bytesMax: number) => Promise<Uint8Array> }

const noPeer: IncomingCall = { address: "", message: async () => new Uint8Array() }
const incomingKey = createContextKey<IncomingCall>(noPeer)

/** connect-es always sees an empty body, so there is nothing to decompress. */
const gzip: Compression = { ...compressionGzip, decompress: async (bytes) => new Uint8Array(bytes) }

/** Options for all operations, on both listeners. */
export const connectOptions = { acceptCompression: [gzip] }

/**
 * The request for connect-es, with an empty message. connect-es would read, decompress and decode
 * the body before the caller is authenticated. Here the dispatcher reads it, within its limits, and
 * connect-es only handles the protocol.
 */
export function withoutBody(
  request: UniversalServerRequest,
  incoming: IncomingCall,
): UniversalServerRequest & { readonly contextValues: ContextValues } {
  const header = new Headers(request.header)
  header.delete("content-length")
  const type = mediaTypeOf(header)
  const message = type.endsWith("json") ? "{}" : ""
  const isFramed = type.startsWith("application/grpc")
  const prefix = isFramed ? `\0\0\0\0${String.fromCharCode(message.length)}` : ""
  const body = Buffer.from(prefix + message)
  const contextValues = createContextValues().set(incomingKey, incoming)
  return { ...request, header, body: yieldOnce(body), contextValues }
}

async function* yieldOnce(bytes: Uint8Array) {
  yield bytes
}

/**
 * Registers every operation with connect-es, which handles the protocols and calls the dispatcher.
 */
export function registerRoutes(entries: readonly Entry[]): (router: ConnectRouter) => void {
  return (router) => {
    for (const entry of entries) {
      const { method, name } = entry
      if (!isUnary(method)) throw new Error(`${name} is a stream, which is not supported`)
      router.rpc(method, (_, context) => callEntry(entry, context))
    }
  }
}

const isUnary = (method: DescMethod): method is DescMethodUnary => method.methodKind === "unary"

async function callEntry(entry: Entry, context: HandlerContext): Promise<Message> {
  const { input } = entry.method
  const { message } = context.values.get(incomingKey)
  const decode = mediaTypeOf(context.requestHeader).endsWith("json") ? decodeJson : decodeBinary
  const { headers, result } = await entry.call(metadataOf(entry, context), {
    decode: async (bytesMax) => decode(input, await message(bytesMax)),
    encode: (answer) => answer,
  })
  if (!result.ok) throw errorOf(result.fault, headers)
  for (const [name, value] of Object.entries(headers)) context.responseHeader.set(name, value)
  return result.value
}

function metadataOf({ name }: Entry, context: HandlerContext): CallMetadata {
  const { values, requestHeader, requestMethod, protocolName, timeoutMs } = context
  const { address, host } = values.get(incomingKey)
  if (host !== undefined) requestHeader.set("host", host)
  return {
    headers: requestHeader,
    address,
    encoding: encodings[protocolName] ?? "connect",
    target: { method: requestMethod, path: `/${name}` },
    timeoutMs: timeoutMs(),
  }
}

const encodings: Readonly<Record<string, Encoding>> = { grpc: "grpc", "grpc-web": "grpc-web" }

const errorOf = (fault: Fault, headers: Readonly<Record<string, string>>): ConnectError =>
  new ConnectError(textOf(fault), codeOf(fault), { ...headers }, detailMessages(fault))

/** connect-es uses the numbers of gRPC codes. */
const codeOf = ({ code }: Fault): Code => {
  const number: Code = grpcNumber(code)
  return number
}
