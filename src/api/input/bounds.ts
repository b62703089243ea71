import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf"
import { Fault } from "../../kernel/fault.ts"

/** The maximum size of a body in bytes: twice the size of the largest value of the interface. */
export const bodyBytesMax = 1024 * 1024

/**
 * The maximum size of a body that contains a file: the largest allowed file in base64 plus the
 * other fields.
 */
export const fileBytesMax = 1536 * 1024

/** The maximum size of a body from a caller without a token. */
export const anonymousBytesMax = 4096

/**
 * The maximum number of keys, elements and messages in a body. Decoded parts need many times the
 * memory of their bytes, so they are counted before decoding. A body with fewer bytes than this is
 * not counted.
 */
export const partsMax = 10_000

/**
 * The maximum number of characters in a text, so that folding, comparing and quoting it stays fast.
 */
export const charactersMax = 10_000

export const isTooLong = ({ scalar }: DescField, value: unknown): boolean =>
  scalar === ScalarType.STRING && typeof value === "string" && value.length > charactersMax

export const tooLongText = `must be at most ${charactersMax} characters`

/** The maximum nesting depth of a body in any encoding; the same as that of the decoders. */
export const bodyDepthMax = 100

/** Rejects JSON with more than `partsMax` parts in one pass over its bytes. */
export function validateJsonParts(bytes: Uint8Array): void {
  if (bytes.length <= partsMax) return
  let parts = 0
  let isText = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (isText) {
      if (byte === backslash) at++
      else if (byte === quote) isText = false
    } else if (byte === quote) isText = true
    else if (byte === comma || byte === colon || byte === brace || byte === bracket) parts++
  }
  if (parts > partsMax) throw tooManyPartsError()
}

const [quote, comma, colon, bracket, backslash, brace] = [0x22, 0x2c, 0x3a, 0x5b, 0x5c, 0x7b]

/**
 * Throws if a protobuf message has more than `partsMax` known or unknown parts. Traverses the
 * message as the decoder does, without decoding it. Returns false where a lenient decoder would
 * read the bytes differently: a wire type that doesn't match the field, or a part longer than its
 * message.
 */
export function validateBinaryParts(schema: DescMessage, bytes: Uint8Array): boolean {
  if (bytes.length <= partsMax) return true
  return walkMessage({ bytes, at: 0, parts: 0 }, planOf(schema), bytes.length, 1)
}

type Cursor = { readonly bytes: Uint8Array; at: number; parts: number }

/**
 * The wire type that a tag must have, whether elements can be packed, and the plan of a nested
 * message.
 */
type FieldPlan = { readonly wire: number; readonly packs: boolean; readonly inside?: MessagePlan }
type MessagePlan = Map<number, FieldPlan>

const [varint, bits64, delimited, groupStart, groupEnd, bits32] = [0, 1, 2, 3, 4, 5] as const

const messagePlans = new WeakMap<DescMessage, MessagePlan>()

function planOf(schema: DescMessage): MessagePlan {
  const known = messagePlans.get(schema)
  if (known) return known
  const plan: MessagePlan = new Map()
  // Stored before it is filled because messages can be recursive.
  messagePlans.set(schema, plan)
  for (const field of schema.fields) plan.set(field.number, fieldPlanOf(field))
  return plan
}

function fieldPlanOf(field: DescField): FieldPlan {
  if (field.fieldKind === "map") {
    const key = { wire: wireOf(field.mapKey), packs: false }
    return {
      wire: delimited,
      packs: false,
      inside: new Map([
        [1, key],
        [2, singleFieldPlan(field)],
      ]),
    }
  }
  const one = singleFieldPlan(field)
  return { ...one, packs: field.fieldKind === "list" && one.wire !== delimited }
}

function singleFieldPlan(field: DescField): FieldPlan {
  if (field.message) return { wire: delimited, packs: false, inside: planOf(field.message) }
  return { wire: field.scalar === undefined ? varint : wireOf(field.scalar), packs: false }
}

function wireOf(scalar: ScalarType): number {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return delimited
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return bits64
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return bits32
    default:
      return varint
  }
}

/** Traverses the fields up to `end`; returns false if the bytes are not a valid message. */
function walkMessage(cursor: Cursor, plan: MessagePlan, end: number, depth: number): boolean {
  if (depth > bodyDepthMax) return false
  while (cursor.at < end) {
    const tag = readVarint(cursor)
    addParts(cursor, 1)
    const wire = tag & 7
    const field = plan.get(tag >>> 3)
    const isRight = field
      ? walkKnownField(cursor, field, { wire, depth, end })
      : skipValue(cursor, tag, depth)
    if (!isRight || cursor.at > end) return false
  }
  return cursor.at === end
}

function walkKnownField(
  cursor: Cursor,
  { wire, packs, inside }: FieldPlan,
  position: { readonly wire: number; readonly depth: number; readonly end: number },
): boolean {
  if (position.wire !== wire && !(packs && position.wire === delimited)) return false
  if (position.wire !== delimited) return skipValue(cursor, wire, position.depth)
  const length = readVarint(cursor)
  const end = cursor.at + length
  if (end > position.end) return false
  if (inside) return walkMessage(cursor, inside, end, position.depth + 1)
  // Every element of a packed list has at least one byte.
  if (packs) addParts(cursor, length)
  cursor.at = end
  return true
}

/** Skips one value; `tag` is that of an unknown field. */
function skipValue(cursor: Cursor, tag: number, depth: number): boolean {
  switch (tag & 7) {
    case varint:
      while ((cursor.bytes[cursor.at] ?? 0) >= 0x80) cursor.at++
      cursor.at++
      return true
    case bits64:
      cursor.at += 8
      return true
    case bits32:
      cursor.at += 4
      return true
    case delimited: {
      const length = readVarint(cursor)
      cursor.at += length
      return true
    }
    case groupStart:
      return skipGroup(cursor, tag, depth + 1)
    default:
      return false
  }
}

function skipGroup(cursor: Cursor, opening: number, depth: number): boolean {
  if (depth > bodyDepthMax) return false
  while (cursor.at < cursor.bytes.length) {
    const tag = readVarint(cursor)
    addParts(cursor, 1)
    if ((tag & 7) === groupEnd) return tag >>> 3 === opening >>> 3
    if (!skipValue(cursor, tag, depth)) return false
  }
  return false
}

/** Reads a varint of 32 bits; a larger one moves the position past the end. */
function readVarint(cursor: Cursor): number {
  let value = 0
  for (let shift = 0; shift < 35; shift += 7) {
    const byte = cursor.bytes[cursor.at++] ?? 0
    value += (byte & 0x7f) * 2 ** shift
    if (byte < 0x80 && value < 2 ** 32) return value
  }
  cursor.at = Number.POSITIVE_INFINITY
  return 0
}

function addParts(cursor: Cursor, parts: number): void {
  cursor.parts += parts
  if (cursor.parts > partsMax) throw tooManyPartsError()
}

const tooManyPartsError = () =>
  new Fault(
    "invalid_argument",
    "request.too_many_parts",
    `the body has more than ${partsMax} keys and values; split it into several calls`,
  )
