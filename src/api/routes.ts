import { create, type DescMethod, type DescMethodUnary, type Message } from "@bufbuild/protobuf"
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ContextValues,
  createContextKey,
  createContextValues,
  type HandlerContext,
} from "@connectrpc/connect"
import type { Compression } from "@connectrpc/connect/protocol"
import { compressionGzip } from "@connectrpc/connect-node"
import { ErrorDetailSchema } from "../gen/core/v1/error_pb.ts"
import type { Fault } from "../kernel/fault.ts"
import { bodyBytesMax } from "./decode.ts"
import type { Arrival, Encoding, Entry } from "./dispatch.ts"
import { grpcNumber, textOf } from "./faults.ts"

/** What the transport knows about the peer, carried through connect-es to the dispatcher. */
export type Peer = {
  readonly address: string
  /** The host that was asked for, where it does not come as a header. */
  readonly host?: string | undefined
}

const peerKey = createContextKey<Peer>({ address: "" })

export const peerValues = (peer: Peer): ContextValues => createContextValues().set(peerKey, peer)

/** What can't be unpacked is the sender's mistake; connect-es takes it for ours. */
const gzip: Compression = {
  ...compressionGzip,
  decompress: async (bytes, bytesMax) => {
    try {
      return await compressionGzip.decompress(bytes, bytesMax)
    } catch (cause) {
      if (!(cause instanceof ConnectError) || cause.code !== Code.Internal) throw cause
      throw new ConnectError("the body is not the gzip that it says it is", Code.InvalidArgument)
    }
  },
}

/** The limits that connect-es holds for us, the same on both listeners. */
export const connectOptions = {
  readMaxBytes: bodyBytesMax,
  jsonOptions: { ignoreUnknownFields: false },
  acceptCompression: [gzip],
}

/** Lays every operation behind connect-es, which knows the protocols; the dispatcher is ours. */
export function routesOf(entries: readonly Entry[]): (router: ConnectRouter) => void {
  return (router) => {
    for (const entry of entries) {
      const { method, name } = entry
      if (!isUnary(method)) throw new Error(`${name} streams, which nothing here does`)
      router.rpc(method, (request, context) => run(entry, request, context))
    }
  }
}

const isUnary = (method: DescMethod): method is DescMethodUnary => method.methodKind === "unary"

async function run(entry: Entry, request: Message, context: HandlerContext): Promise<Message> {
  const { headers, result } = await entry.call(arrivalOf(entry, context), {
    decode: () => request,
    encode: (message) => message,
  })
  if (!result.ok) throw errorOf(result.fault, headers)
  for (const [name, value] of Object.entries(headers)) context.responseHeader.set(name, value)
  return result.value
}

function arrivalOf({ name }: Entry, context: HandlerContext): Arrival {
  const { values, requestHeader, requestMethod, protocolName, timeoutMs } = context
  const { address, host } = values.get(peerKey)
  if (host !== undefined && !requestHeader.has("host")) requestHeader.set("host", host)
  return {
    headers: requestHeader,
    address,
    encoding: encodings[protocolName] ?? "connect",
    target: { method: requestMethod, path: `/${name}` },
    timeoutMs: timeoutMs(),
  }
}

const encodings: Readonly<Record<string, Encoding>> = { grpc: "grpc", "grpc-web": "grpc-web" }

function errorOf(fault: Fault, headers: Readonly<Record<string, string>>): ConnectError {
  const { id, message } = fault
  const detail = { desc: ErrorDetailSchema, value: create(ErrorDetailSchema, { id, message }) }
  const error = new ConnectError(textOf(fault), codeOf(fault), { ...headers }, [detail])
  return error
}

/** connect-es counts the codes as gRPC does. */
const codeOf = ({ code }: Fault): Code => {
  const number: Code = grpcNumber(code)
  return number
}
