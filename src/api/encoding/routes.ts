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
import type { Arrival, Encoding, Entry } from "../dispatch.ts"
import { grpcNumber, textOf } from "../faults.ts"
import { mediaTypeOf } from "../input/body.ts"
import { decodeBinary, decodeJson } from "../input/decode.ts"
import { detailMessages } from "./detail.ts"

/** What the transport knows about the peer, carried through connect-es to the dispatcher. */
export type Peer = {
  readonly address: string
  /** The host that was asked for, where it does not come as a header. */
  readonly host?: string | undefined
}

/** The one who calls, and what they sent: read when the dispatcher asks for it. */
type Sent = Peer & { readonly message: (bytesMax: number) => Promise<Uint8Array> }

const nobody: Sent = { address: "", message: async () => new Uint8Array() }
const sentKey = createContextKey<Sent>(nobody)

/** What connect-es sees of every body has nothing to unpack. */
const gzip: Compression = { ...compressionGzip, decompress: async (bytes) => new Uint8Array(bytes) }

/** For every operation, on both listeners. */
export const connectOptions = { acceptCompression: [gzip] }

/**
 * The request as connect-es shall see it: with an empty message. It would read, unpack and decode
 * a body before anybody asks who sends it; here the dispatcher reads it, in its turn and within its
 * limits, and connect-es knows the protocols.
 */
export function withoutBody(
  requested: UniversalServerRequest,
  sent: Sent,
): UniversalServerRequest & { readonly contextValues: ContextValues } {
  const header = new Headers(requested.header)
  header.delete("content-length")
  const type = mediaTypeOf(header)
  const message = type.endsWith("json") ? "{}" : ""
  const isFramed = type.startsWith("application/grpc")
  const prefix = isFramed ? `\0\0\0\0${String.fromCharCode(message.length)}` : ""
  const body = Buffer.from(prefix + message)
  const contextValues = createContextValues().set(sentKey, sent)
  return { ...requested, header, body: once(body), contextValues }
}

async function* once(bytes: Uint8Array) {
  yield bytes
}

/** Lays every operation behind connect-es, which knows the protocols; the dispatcher is ours. */
export function routesOf(entries: readonly Entry[]): (router: ConnectRouter) => void {
  return (router) => {
    for (const entry of entries) {
      const { method, name } = entry
      if (!isUnary(method)) throw new Error(`${name} streams, which nothing here does`)
      router.rpc(method, (_, context) => run(entry, context))
    }
  }
}

const isUnary = (method: DescMethod): method is DescMethodUnary => method.methodKind === "unary"

async function run(entry: Entry, context: HandlerContext): Promise<Message> {
  const { input } = entry.method
  const { message } = context.values.get(sentKey)
  const decode = mediaTypeOf(context.requestHeader).endsWith("json") ? decodeJson : decodeBinary
  const { headers, result } = await entry.call(arrivalOf(entry, context), {
    decode: async (bytesMax) => decode(input, await message(bytesMax)),
    encode: (answer) => answer,
  })
  if (!result.ok) throw errorOf(result.fault, headers)
  for (const [name, value] of Object.entries(headers)) context.responseHeader.set(name, value)
  return result.value
}

function arrivalOf({ name }: Entry, context: HandlerContext): Arrival {
  const { values, requestHeader, requestMethod, protocolName, timeoutMs } = context
  const { address, host } = values.get(sentKey)
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

/** connect-es counts the codes as gRPC does. */
const codeOf = ({ code }: Fault): Code => {
  const number: Code = grpcNumber(code)
  return number
}
