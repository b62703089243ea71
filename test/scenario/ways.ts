// An operation in every encoding, with comparable results.
import {
  create,
  type DescMethodUnary,
  fromBinary,
  fromJson,
  type JsonObject,
  type JsonValue,
  type Message,
  toBinary,
  toJson,
} from "@bufbuild/protobuf"
import { Code as ConnectCode, ConnectError } from "@connectrpc/connect"
import { createGrpcWebTransport } from "@connectrpc/connect-web"
import { Client, credentials, Metadata } from "@grpc/grpc-js"
import { bindingsOf } from "../../src/api/encoding/rest.ts"
import type { Code } from "../../src/kernel/fault.ts"

export type EncodedCall = {
  readonly url: string
  readonly grpcPort: number
  readonly method: DescMethodUnary
  readonly body: JsonObject
  readonly headers: Readonly<Record<string, string>>
}

export type CallResult = {
  readonly code: Code | "ok"
  readonly id: string | undefined
  readonly body: JsonValue
  readonly status?: number
}

export type CallEncoding = (call: EncodedCall) => Promise<CallResult>

const codes: readonly (Code | "ok")[] = [
  ...(["ok", "canceled", "unknown", "invalid_argument", "deadline_exceeded"] as const),
  ...(["not_found", "already_exists", "permission_denied", "resource_exhausted"] as const),
  ...(["failed_precondition", "aborted", "out_of_range", "unimplemented", "internal"] as const),
  ...(["unavailable", "data_loss", "unauthenticated"] as const),
]

const failedResult = (code: number, words: string): CallResult => ({
  code: codes[code] ?? "unknown",
  id: /\(([\w.]+)\)$/.exec(words)?.[1],
  body: null,
})

const pathOf = ({ parent, name }: DescMethodUnary) => `/${parent.typeName}/${name}`

/** The encodings of an operation, including REST for each of its paths. */
export function encodingsOf(method: DescMethodUnary): readonly (readonly [string, CallEncoding])[] {
  const rest = hasPath(method) ? bindingsOf(method) : []
  return [
    ...rest.map(
      ({ verb, path, body }) => [`REST ${verb} ${path}`, restEncoding(verb, path, body)] as const,
    ),
    ["Connect JSON", connectJson],
    ["Connect binary", connectBinary],
    ["gRPC-Web", grpcWeb],
    ["gRPC", grpc],
  ]
}

const hasPath = ({ parent }: DescMethodUnary) => /\.v1$|v3alpha$/.test(parent.file.proto.package)

const restEncoding =
  (verb: string, template: string, bodyField: string): CallEncoding =>
  async ({ url, method, body, headers }) => {
    const rest = structuredClone(body)
    const path = template.replace(/\{([\w.]+)(?:=\*\*)?\}/g, (_, name: string) =>
      encodeURIComponent(String(takeField(method, rest, name))),
    )
    const sent = bodyField === "*" ? rest : bodyField && takeField(method, rest, bodyField)
    const query = bodyField === "*" ? [] : parameters(rest, "")
    const address = new URL(`${url}${path}`)
    for (const [name, value] of query) address.searchParams.append(name, value)
    const field = method.input.fields.find(({ name }) => name === bodyField)
    const isFile = field?.message?.typeName === "core.asset.v1.File"
    const type = sent && !isFile ? { "content-type": "application/json" } : {}
    const response = await fetch(address, {
      method: verb,
      headers: { ...headers, ...type },
      ...(sent ? { body: isFile ? formOf(sent) : JSON.stringify(sent) } : {}),
    })
    const answer = await response.json()
    if (response.ok) return { code: "ok", id: undefined, body: answer, status: response.status }
    return { ...failedResult(answer.code, answer.message), status: response.status }
  }

/** RFC 7578: the file as a form part. */
function formOf(file: JsonValue): FormData {
  const form = new FormData()
  form.set("file", new Blob([Buffer.from(Object(file).data ?? "", "base64")]), "file.bin")
  return form
}

function takeField({ input }: DescMethodUnary, from: JsonObject, name: string): JsonValue {
  const field = input.fields.find((each) => each.name === name)
  const value = from[field?.jsonName ?? name]
  delete from[field?.jsonName ?? name]
  return value ?? ""
}

function parameters(value: JsonObject, prefix: string): (readonly [string, string])[] {
  return Object.entries(value).flatMap(([name, inner]) => {
    const path = `${prefix}${name}`
    if (Array.isArray(inner)) return inner.map((each) => [path, String(each)] as const)
    if (inner !== null && typeof inner === "object") return parameters(inner, `${path}.`)
    return [[path, String(inner)] as const]
  })
}

const connectJson: CallEncoding = async ({ url, method, body, headers }) => {
  const response = await fetch(`${url}${pathOf(method)}`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
  })
  const answer = await response.json()
  if (response.ok) return { code: "ok", id: undefined, body: answer }
  return failedResult(codes.indexOf(answer.code), answer.message)
}

const connectBinary: CallEncoding = async ({ url, method, body, headers }) => {
  const { input, output } = method
  const response = await fetch(`${url}${pathOf(method)}`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/proto" },
    body: toBinary(input, fromJson(input, body)),
  })
  if (!response.ok) {
    const answer = await response.json()
    return failedResult(codes.indexOf(answer.code), answer.message)
  }
  const message = fromBinary(output, new Uint8Array(await response.arrayBuffer()))
  return { code: "ok", id: undefined, body: toJson(output, message) }
}

const grpcWeb: CallEncoding = async ({ url, method, body, headers }) => {
  const transport = createGrpcWebTransport({ baseUrl: url })
  const message = create(method.input, fromJson(method.input, body))
  try {
    const answer = await transport.unary(method, undefined, undefined, headers, message)
    return { code: "ok", id: undefined, body: toJson(method.output, answer.message) }
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error
    const code: number = error.code ?? ConnectCode.Unknown
    return failedResult(code, error.rawMessage)
  }
}

const clients = new Map<number, Client>()

const grpc: CallEncoding = ({ grpcPort, method, body, headers }) => {
  const client =
    clients.get(grpcPort) ?? new Client(`127.0.0.1:${grpcPort}`, credentials.createInsecure())
  clients.set(grpcPort, client)
  const metadata = new Metadata()
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value)
  const { promise, resolve } = Promise.withResolvers<CallResult>()
  client.makeUnaryRequest(
    pathOf(method),
    (message: Message) => Buffer.from(toBinary(method.input, message)),
    (bytes) => fromBinary(method.output, bytes),
    fromJson(method.input, body),
    metadata,
    (error, answer) =>
      resolve(
        answer
          ? { code: "ok", id: undefined, body: toJson(method.output, answer) }
          : failedResult(error?.code ?? 2, error?.details ?? ""),
      ),
  )
  return promise
}

/** Closes the connections that stay open between calls. */
export function closeConnections(): void {
  for (const client of clients.values()) client.close()
  clients.clear()
}
