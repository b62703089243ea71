import { type DescMessage, fromBinary, fromJsonString, type Message } from "@bufbuild/protobuf"
import { Fault } from "../../kernel/fault.ts"
import { partsMax, validateBinaryParts, validateJsonParts } from "./bounds.ts"
import { decodeProblem } from "./decode-problem.ts"
import { syntaxErrorPosition } from "./syntax.ts"

const utf8 = new TextDecoder("utf-8", { fatal: true })

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    throw new Fault("invalid_argument", "request.not_utf8", "the body is not UTF-8", { cause })
  }
}

/**
 * Decodes proto3 JSON: names in camelCase or snake_case, enums by name or number, int64 as a
 * string. Rejects unknown fields. Errors name the position and never repeat a value.
 */
export function decodeJson(schema: DescMessage, bytes: Uint8Array): Message {
  validateJsonParts(bytes)
  const text = decodeUtf8(bytes)
  // The decoder needs quadratic time for the digits of a number, so large bodies are checked first.
  const problem = bytes.length > partsMax ? describeProblem(schema, text) : undefined
  if (problem) throw invalidError(problem)
  try {
    return fromJsonString(schema, text)
  } catch (cause) {
    throw invalidError(describeProblem(schema, text) ?? outOfRangeText, cause)
  }
}

const outOfRangeText = "in the body, a key appears twice or a value is out of range"

/** Decodes protobuf binary. */
export function decodeBinary(schema: DescMessage, bytes: Uint8Array): Message {
  const noMessage = `the body is not a ${schema.name} in protobuf binary encoding`
  if (!validateBinaryParts(schema, bytes)) throw invalidError(noMessage)
  try {
    return fromBinary(schema, bytes)
  } catch (cause) {
    throw invalidError(noMessage, cause)
  }
}

const invalidError = (message: string, cause?: unknown) =>
  new Fault("invalid_argument", "request.invalid", message, { cause })

function describeProblem(schema: DescMessage, text: string): string | undefined {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    // Locating the error takes longer than parsing, and no one writes such large bodies by hand.
    if (text.length > partsMax) return "the body is not JSON"
    const { line, column } = syntaxErrorPosition(text)
    return `the body is not JSON: syntax error at line ${line}, column ${column}`
  }
  return decodeProblem(schema, json)
}
