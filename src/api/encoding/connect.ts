import { type Message, toBinary, toJson } from "@bufbuild/protobuf"
import { Fault } from "../../kernel/fault.ts"
import type { Entry } from "../dispatch.ts"
import { bodyOf, mediaTypeOf } from "../input/body.ts"
import { decodeBinary, decodeJson } from "../input/decode.ts"
import { challenge, httpStatusOf, respond } from "../respond.ts"
import { connectErrorOf } from "./connect-error.ts"

/** Whether this is a plain unary Connect call, which needs none of connect-es. */
export function isPlainConnect(headers: Headers): boolean {
  const type = mediaTypeOf(headers)
  const encoding = headers.get("content-encoding") ?? "identity"
  return (type === "application/json" || type === "application/proto") && encoding === "identity"
}

/** Answers a plain unary Connect call, JSON or binary, straight from the dispatcher. */
export async function connect(entry: Entry, request: Request, address: string): Promise<Response> {
  const isJson = mediaTypeOf(request.headers) === "application/json"
  const { input, output } = entry.method
  const { headers: requested } = request
  const arrival = {
    headers: requested,
    address,
    encoding: "connect" as const,
    target: { method: request.method, path: `/${entry.name}` },
    timeoutMs: timeoutOf(requested),
  }
  const { headers, result } = await entry.call(arrival, {
    decode: async (bytesMax) => {
      refuseProtocol(requested)
      const bytes = await bodyOf(request, bytesMax)
      return isJson ? decodeJson(input, bytes) : decodeBinary(input, bytes)
    },
    encode: (message: Message) =>
      isJson ? JSON.stringify(toJson(output, message)) : toBinary(output, message),
  })
  if (result.ok) {
    const type = isJson ? "application/json" : "application/proto"
    return respond(result.value, { ...headers, "content-type": type })
  }
  return refuse(result.fault, headers)
}

/** A failed Connect call; errors are JSON, whatever the request was. */
export function refuse(fault: Fault, headers: Readonly<Record<string, string>> = {}): Response {
  const body = JSON.stringify(connectErrorOf(fault))
  return respond(body, { ...challenge(fault), ...headers }, httpStatusOf(fault))
}

const timeout = /^\d{1,10}$/

function timeoutOf(headers: Headers): number | undefined {
  const text = headers.get("connect-timeout-ms")
  return text !== null && timeout.test(text) ? Number(text) : undefined
}

function refuseProtocol(headers: Headers): void {
  const text = headers.get("connect-timeout-ms")
  if (text !== null && !timeout.test(text)) {
    throw refusalError("Connect-Timeout-Ms must be a number of milliseconds, at most ten digits")
  }
  const version = headers.get("connect-protocol-version") ?? "1"
  if (version !== "1") throw refusalError("this server speaks version 1 of the Connect protocol")
}

const refusalError = (message: string) => new Fault("invalid_argument", "request.protocol", message)
