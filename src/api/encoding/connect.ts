import { type Message, toBinary, toJson } from "@bufbuild/protobuf"
import { Fault } from "../../kernel/fault.ts"
import type { Entry } from "../dispatch.ts"
import { mediaTypeOf, readBody } from "../input/body.ts"
import { decodeBinary, decodeJson } from "../input/decode.ts"
import { challengeHeaders, httpStatusOf, respond } from "../respond.ts"
import { connectErrorOf } from "./connect-error.ts"

/** Whether this is a plain unary Connect call, which is handled without connect-es. */
export function isPlainConnect(headers: Headers): boolean {
  const type = mediaTypeOf(headers)
  const encoding = headers.get("content-encoding") ?? "identity"
  return (type === "application/json" || type === "application/proto") && encoding === "identity"
}

/** Handles a plain unary Connect call, JSON or binary, through the dispatcher. */
export async function handleConnect(
  entry: Entry,
  request: Request,
  address: string,
): Promise<Response> {
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
      validateProtocol(requested)
      const bytes = await readBody(request, bytesMax)
      return isJson ? decodeJson(input, bytes) : decodeBinary(input, bytes)
    },
    encode: (message: Message) =>
      isJson ? JSON.stringify(toJson(output, message)) : toBinary(output, message),
  })
  if (result.ok) {
    const type = isJson ? "application/json" : "application/proto"
    return respond(result.value, { ...headers, "content-type": type })
  }
  return errorResponse(result.fault, headers)
}

/** A failed Connect call. Errors are JSON regardless of the request's content type. */
export function errorResponse(
  fault: Fault,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const body = JSON.stringify(connectErrorOf(fault))
  return respond(body, { ...challengeHeaders(fault), ...headers }, httpStatusOf(fault))
}

const timeoutPattern = /^\d{1,10}$/

function timeoutOf(headers: Headers): number | undefined {
  const text = headers.get("connect-timeout-ms")
  return text !== null && timeoutPattern.test(text) ? Number(text) : undefined
}

function validateProtocol(headers: Headers): void {
  const text = headers.get("connect-timeout-ms")
  if (text !== null && !timeoutPattern.test(text)) {
    throw protocolError(
      "Connect-Timeout-Ms must be a number of milliseconds with at most ten digits",
    )
  }
  const version = headers.get("connect-protocol-version") ?? "1"
  if (version !== "1")
    throw protocolError("this server supports only version 1 of the Connect protocol")
}

const protocolError = (message: string) =>
  new Fault("invalid_argument", "request.protocol", message)
