import { type DescMessage, fromBinary, fromJsonString, type Message } from "@bufbuild/protobuf"
import { Fault } from "../kernel/fault.ts"
import { explain } from "./explain.ts"
import { placeOf } from "./syntax.ts"

/** Bodies above this size are refused unread. */
export const bodyBytesMax = 4 * 1024 * 1024

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** Reads bytes as text; refuses what is not UTF-8. */
export function textOf(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw new Fault("invalid_argument", "request.not_utf8", "the body is not UTF-8", { cause })
  }
}

/**
 * Reads proto3 JSON: camelCase or snake_case names, enums by name or number, int64 as text.
 * Refuses unknown fields, and says where and what without repeating a value.
 */
export function decodeJson(schema: DescMessage, text: string): Message {
  try {
    return fromJsonString(schema, text)
  } catch (cause) {
    throw new Fault("invalid_argument", "request.invalid", whatIsWrong(schema, text), {
      cause,
    })
  }
}

/** Reads protobuf's own encoding. */
export function decodeBinary(schema: DescMessage, bytes: Uint8Array): Message {
  try {
    return fromBinary(schema, bytes)
  } catch (cause) {
    const message = `the body is not a ${schema.name} in protobuf's binary encoding`
    throw new Fault("invalid_argument", "request.invalid", message, { cause })
  }
}

function whatIsWrong(schema: DescMessage, text: string): string {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    const { line, column } = placeOf(text)
    return `the body is not JSON: it goes wrong at line ${line}, column ${column}`
  }
  return explain(schema, json) ?? "in the body, a key is given twice or a value is out of range"
}
