import { type DescEnum, type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf"
import { nearest, shown } from "../../kernel/text/nearest.ts"
import { isTooLong, tooLong } from "./bounds.ts"

/** As deep as the decoder goes; below that nothing is looked at. */
const depthMax = 100

/**
 * Says what about a JSON value does not fit the message that it should be, and where; undefined if
 * nothing is found. Walks once, and never repeats a value: it may be a password.
 */
export function decodeProblem(
  schema: DescMessage,
  json: unknown,
  path = "",
  depth = 1,
): string | undefined {
  if (depth > depthMax) return "the body nests too deep"
  const known = form(schema, json, path || "the body")
  if (known !== "object") return known
  const given = new Map<string, string>()
  for (const [key, value] of Object.entries(Object(json))) {
    const at = path ? `${path}.${key}` : key
    const field = schema.fields.find(({ name, jsonName }) => key === name || key === jsonName)
    const wrong = field
      ? (twiceProblem(given, field, at) ?? fieldProblem(field, value, at, depth))
      : unknownField(schema, at, key)
    if (wrong) return wrong
  }
  return undefined
}

/** "object" for a message of fields, else what is wrong with a value of a well-known type. */
function form(schema: DescMessage, json: unknown, at: string): string | undefined {
  if (schema.typeName === "google.protobuf.Timestamp") {
    return isTime(json) ? undefined : `${at} must be a time like "2026-01-31T12:00:00Z"`
  }
  if (schema.typeName === "google.protobuf.Duration") {
    return isDuration(json) ? undefined : `${at} must be a duration like "3.5s"`
  }
  if (schema.typeName === "google.protobuf.FieldMask") {
    const isMask = typeof json === "string" && !json.includes("_")
    return isMask ? undefined : `${at} must name fields in camelCase, like "forceMfa,allowRegister"`
  }
  if (schema.typeName.startsWith("google.protobuf.")) return undefined
  return isObject(json) ? "object" : `${at} must be an object`
}

function unknownField(schema: DescMessage, at: string, key: string): string {
  const guess = nearest(
    key,
    schema.fields.map((field) => field.jsonName),
  )
  const help = guess ? `; did you mean "${guess}"?` : ""
  return `there is no field "${shown(at)}" here${help}`
}

/** A field has two spellings, and of the fields of a oneof only one may be given. */
function twiceProblem(given: Map<string, string>, field: DescField, at: string) {
  const owner = field.oneof ? `oneof ${field.oneof.name}` : field.name
  const other = given.get(owner)
  given.set(owner, at)
  return other === undefined ? undefined : `"${other}" and "${at}" can't be given together`
}

function fieldProblem(
  field: DescField,
  value: unknown,
  at: string,
  depth: number,
): string | undefined {
  // null stands for "not set" everywhere but within a list.
  if (value === null) return undefined
  const each = (item: unknown, place: string) => valueProblem(field, item, place, depth)
  if (field.fieldKind === "list") {
    if (!Array.isArray(value)) return `${at} must be a list`
    return firstOf(value.entries(), (item, index) => each(item, `${at}[${index}]`))
  }
  if (field.fieldKind === "map") {
    if (!isObject(value)) return `${at} must be an object`
    return firstOf(Object.entries(value), (item, key) => each(item, `${at}.${key}`))
  }
  return each(value, at)
}

function firstOf<K>(
  items: Iterable<[K, unknown]>,
  look: (item: unknown, key: K) => string | undefined,
) {
  for (const [key, item] of items) {
    const wrong = look(item, key)
    if (wrong) return wrong
  }
  return undefined
}

function valueProblem(
  field: DescField,
  value: unknown,
  at: string,
  depth: number,
): string | undefined {
  if (field.message) return decodeProblem(field.message, value, at, depth + 1)
  if (field.enum) return enumProblem(field.enum, value, at)
  if (isTooLong(field, value)) return `${at} ${tooLong}`
  const expected = field.scalar === undefined ? undefined : scalars[field.scalar]
  return expected && !expected.fits(value) ? `${at} must be ${expected.name}` : undefined
}

function enumProblem(values: DescEnum, value: unknown, at: string): string | undefined {
  const isKnown = values.values.some(({ name, number }) => value === name || value === number)
  if (isKnown) return undefined
  return `${at} must be one of ${values.values.map(({ name }) => name).join(", ")}`
}

type Scalar = { readonly name: string; readonly fits: (value: unknown) => boolean }

const text: Scalar = { name: "a text", fits: (value) => typeof value === "string" }
const bytes: Scalar = { name: "bytes in base64", fits: isBase64 }
const flag: Scalar = { name: "true or false", fits: (value) => typeof value === "boolean" }
const real: Scalar = { name: "a number", fits: (value) => isNumber(value) || isSpecial(value) }

const whole = (least: number, most: number): Scalar => ({
  name: `a whole number from ${least} to ${most}`,
  fits: (value) => {
    const number = Number(value)
    return isWhole(value) && Number.isInteger(number) && number >= least && number <= most
  },
})
const int32 = whole(-(2 ** 31), 2 ** 31 - 1)
const uint32 = whole(0, 2 ** 32 - 1)
const int64: Scalar = { name: "a whole number of 64 bits, as a text", fits: isWhole }
const uint64: Scalar = {
  name: "a whole number of 64 bits, not negative, as a text",
  fits: isWhole,
}

const scalars: Readonly<Record<ScalarType, Scalar>> = {
  [ScalarType.DOUBLE]: real,
  [ScalarType.FLOAT]: real,
  [ScalarType.INT64]: int64,
  [ScalarType.UINT64]: uint64,
  [ScalarType.INT32]: int32,
  [ScalarType.FIXED64]: uint64,
  [ScalarType.FIXED32]: uint32,
  [ScalarType.BOOL]: flag,
  [ScalarType.STRING]: text,
  [ScalarType.BYTES]: bytes,
  [ScalarType.UINT32]: uint32,
  [ScalarType.SFIXED32]: int32,
  [ScalarType.SFIXED64]: int64,
  [ScalarType.SINT32]: int32,
  [ScalarType.SINT64]: int64,
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Numbers may come as numbers or as texts. */
function isNumber(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value)
  return typeof value === "string" && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(value)
}

/** More digits than these are no number of 64 bits; leading zeros count. */
const digitsMax = 100

function isWhole(value: unknown): boolean {
  return isNumber(value) && String(value).length <= digitsMax
}

const isSpecial = (value: unknown) =>
  value === "NaN" || value === "Infinity" || value === "-Infinity"

function isBase64(value: unknown): boolean {
  return typeof value === "string" && /^[\w+/-]*={0,2}$/.test(value)
}

function isTime(value: unknown): boolean {
  const shape = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/
  return typeof value === "string" && shape.test(value) && !Number.isNaN(Date.parse(value))
}

const isShort = (value: unknown): value is string =>
  typeof value === "string" && value.length <= digitsMax

function isDuration(value: unknown): boolean {
  return isShort(value) && /^-?\d+(\.\d{1,9})?s$/.test(value)
}
