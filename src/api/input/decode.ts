import { type DescMessage, fromBinary, fromJsonString, type Message } from "@bufbuild/protobuf"
import { Fault } from "../../kernel/fault.ts"
import { countBinary, countJson, partsMax } from "./bounds.ts"
import { decodeProblem } from "./decode-problem.ts"
import { placeOf } from "./syntax.ts"

const utf8 = new TextDecoder("utf-8", { fatal: true })

function textOf(bytes: Uint8Array): string {
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
export function decodeJson(schema: DescMessage, bytes: Uint8Array): Message {
  countJson(bytes)
  const text = textOf(bytes)
  // The decoder takes the square of their number for digits: they are looked at before.
  const wrong = bytes.length > partsMax ? whatIsWrong(schema, text) : undefined
  if (wrong) throw invalidError(wrong)
  try {
    return fromJsonString(schema, text)
  } catch (cause) {
    throw invalidError(whatIsWrong(schema, text) ?? unfit, cause)
  }
}

const unfit = "in the body, a key is given twice or a value is out of range"

/** Reads protobuf's own encoding. */
export function decodeBinary(schema: DescMessage, bytes: Uint8Array): Message {
  const noMessage = `the body is not a ${schema.name} in protobuf's binary encoding`
  if (!countBinary(schema, bytes)) throw invalidError(noMessage)
  try {
    return fromBinary(schema, bytes)
  } catch (cause) {
    throw invalidError(noMessage, cause)
  }
}

const invalidError = (message: string, cause?: unknown) =>
  new Fault("invalid_argument", "request.invalid", message, { cause })

function whatIsWrong(schema: DescMessage, text: string): string | undefined {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    // To find the place takes longer than to read the whole: nobody writes so much by hand.
    if (text.length > partsMax) return "the body is not JSON"
    const { line, column } = placeOf(text)
    return `the body is not JSON: it goes wrong at line ${line}, column ${column}`
  }
  return decodeProblem(schema, json)
}
