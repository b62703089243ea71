import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf"
import { Fault } from "../../kernel/fault.ts"

/** Bodies above this size are refused unread: the largest value of the interface fits in twice. */
export const bodyBytesMax = 1024 * 1024

/** Bodies with a file in them: the largest that is taken, also in base64, and what is around. */
export const fileBytesMax = 1536 * 1024

/** What somebody may send who has shown no token, where an operation needs none. */
export const strangerBytesMax = 4096

/**
 * Keys, elements and messages that one body may have. What a decoder makes of them costs many times
 * their bytes, so they are counted before it sees them. A body that has no more bytes than this has
 * no more parts either, and isn't counted.
 */
export const partsMax = 10_000

/** Letters of one text: to fold, compare and quote it must stay quick. */
export const lettersMax = 10_000

export const isTooLong = ({ scalar }: DescField, value: unknown): boolean =>
  scalar === ScalarType.STRING && typeof value === "string" && value.length > lettersMax

export const tooLong = `may have at most ${lettersMax} letters`

/** As deep as the decoders go. */
const depthMax = 100

/** Refuses JSON of more than `partsMax` parts, by one pass over its bytes. */
export function countJson(bytes: Uint8Array): void {
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
 * Refuses a message in protobuf's encoding that has more than `partsMax` parts, known or unknown.
 * It walks as the decoder will and makes nothing. Where the decoder is lenient (a wire type that
 * isn't the field's, a part that is longer than its whole) it would walk another way, so that is
 * refused here: false.
 */
export function countBinary(schema: DescMessage, bytes: Uint8Array): boolean {
  if (bytes.length <= partsMax) return true
  return message({ bytes, at: 0, parts: 0 }, planOf(schema), bytes.length, 1)
}

type Walk = { readonly bytes: Uint8Array; at: number; parts: number }

/** What may follow a tag: a wire type, whose elements may also come packed, or a message. */
type Field = { readonly wire: number; readonly packs: boolean; readonly inside?: Plan }
type Plan = Map<number, Field>

const [varint, bits64, delimited, groupStart, groupEnd, bits32] = [0, 1, 2, 3, 4, 5] as const

const plans = new WeakMap<DescMessage, Plan>()

function planOf(schema: DescMessage): Plan {
  const known = plans.get(schema)
  if (known) return known
  const plan: Plan = new Map()
  // Known before it is filled: messages may contain themselves.
  plans.set(schema, plan)
  for (const field of schema.fields) plan.set(field.number, fieldOf(field))
  return plan
}

function fieldOf(field: DescField): Field {
  if (field.fieldKind === "map") {
    const key = { wire: wireOf(field.mapKey), packs: false }
    return {
      wire: delimited,
      packs: false,
      inside: new Map([
        [1, key],
        [2, single(field)],
      ]),
    }
  }
  const one = single(field)
  return { ...one, packs: field.fieldKind === "list" && one.wire !== delimited }
}

function single(field: DescField): Field {
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

/** Walks over the fields up to `end`; false for what is no message. */
function message(walk: Walk, plan: Plan, end: number, depth: number): boolean {
  if (depth > depthMax) return false
  while (walk.at < end) {
    const tag = number(walk)
    count(walk, 1)
    const wire = tag & 7
    const field = plan.get(tag >>> 3)
    const isRight = field ? known(walk, field, { wire, depth, end }) : skip(walk, tag, depth)
    if (!isRight || walk.at > end) return false
  }
  return walk.at === end
}

function known(
  walk: Walk,
  { wire, packs, inside }: Field,
  found: { readonly wire: number; readonly depth: number; readonly end: number },
): boolean {
  if (found.wire !== wire && !(packs && found.wire === delimited)) return false
  if (found.wire !== delimited) return skip(walk, wire, found.depth)
  const length = number(walk)
  const end = walk.at + length
  if (end > found.end) return false
  if (inside) return message(walk, inside, end, found.depth + 1)
  // No element of a packed list is shorter than a byte.
  if (packs) count(walk, length)
  walk.at = end
  return true
}

/** Steps over one value; `tag` is that of a field that isn't looked into. */
function skip(walk: Walk, tag: number, depth: number): boolean {
  switch (tag & 7) {
    case varint:
      while ((walk.bytes[walk.at] ?? 0) >= 0x80) walk.at++
      walk.at++
      return true
    case bits64:
      walk.at += 8
      return true
    case bits32:
      walk.at += 4
      return true
    case delimited: {
      const length = number(walk)
      walk.at += length
      return true
    }
    case groupStart:
      return group(walk, tag, depth + 1)
    default:
      return false
  }
}

function group(walk: Walk, opening: number, depth: number): boolean {
  if (depth > depthMax) return false
  while (walk.at < walk.bytes.length) {
    const tag = number(walk)
    count(walk, 1)
    if ((tag & 7) === groupEnd) return tag >>> 3 === opening >>> 3
    if (!skip(walk, tag, depth)) return false
  }
  return false
}

/** Reads a varint of 32 bits. Of one that is larger the walk doesn't come back. */
function number(walk: Walk): number {
  let value = 0
  for (let shift = 0; shift < 35; shift += 7) {
    const byte = walk.bytes[walk.at++] ?? 0
    value += (byte & 0x7f) * 2 ** shift
    if (byte < 0x80 && value < 2 ** 32) return value
  }
  walk.at = Number.POSITIVE_INFINITY
  return 0
}

function count(walk: Walk, parts: number): void {
  walk.parts += parts
  if (walk.parts > partsMax) throw tooManyPartsError()
}

const tooManyPartsError = () =>
  new Fault(
    "invalid_argument",
    "request.too_many_parts",
    `the body has more than ${partsMax} keys and values; send it in several calls`,
  )
