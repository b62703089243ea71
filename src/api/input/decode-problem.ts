import { type DescEnum, type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf"
import { findNearest, truncateInput } from "../../kernel/text/nearest.ts"
import { bodyDepthMax, isTooLong, tooLongText } from "./bounds.ts"

/**
 * Describes the first part of a JSON value that does not fit the message; undefined if all fits.
 * Traverses the value once and never repeats it, because it can be a password.
 */
export function decodeProblem(
  schema: DescMessage,
  json: unknown,
  path = "",
  depth = 1,
): string | undefined {
  if (depth > bodyDepthMax) return "the body is nested too deeply"
  const known = messageProblem(schema, json, path || "the body")
  if (known !== "object") return known
  const setFields = new Map<string, string>()
  for (const [key, value] of Object.entries(Object(json))) {
    const at = path ? `${path}.${key}` : key
    const field = schema.fields.find(({ name, jsonName }) => key === name || key === jsonName)
    const wrong = field
      ? (duplicateProblem(setFields, field, at) ?? fieldProblem(field, value, at, depth))
      : unknownField(schema, at, key)
    if (wrong) return wrong
  }
  return undefined
}

/** "object" for a message of fields, otherwise the problem with a value of a well-known type. */
function messageProblem(schema: DescMessage, json: unknown, at: string): string | undefined {
  if (schema.typeName === "google.protobuf.Timestamp") {
    return isTime(json) ? undefined : `${at} must be a time like "2026-01-31T12:00:00Z"`
  }
  if (schema.typeName === "google.protobuf.Duration") {
    return isDuration(json) ? undefined : `${at} must be a duration like "3.5s"`
  }
  if (schema.typeName === "google.protobuf.FieldMask") {
    const isMask = typeof json === "string" && !json.includes("_")
    return isMask
      ? undefined
      : `${at} must list fields in camelCase, such as "forceMfa,allowRegister"`
  }
  if (schema.typeName.startsWith("google.protobuf.")) return undefined
  return isObject(json) ? "object" : `${at} must be an object`
}

function unknownField(schema: DescMessage, at: string, key: string): string {
  const guess = findNearest(
    key,
    schema.fields.map((field) => field.jsonName),
  )
  const help = guess ? `; did you mean "${guess}"?` : ""
  return `unknown field "${truncateInput(at)}"${help}`
}

/** A field has two spellings, and only one field of a oneof can be set. */
function duplicateProblem(setFields: Map<string, string>, field: DescField, at: string) {
  const owner = field.oneof ? `oneof ${field.oneof.name}` : field.name
  const other = setFields.get(owner)
  setFields.set(owner, at)
  return other === undefined ? undefined : `"${other}" and "${at}" can't be set together`
}

function fieldProblem(
  field: DescField,
  value: unknown,
  at: string,
  depth: number,
): string | undefined {
  // null means "not set" everywhere except within a list.
  if (value === null) return undefined
  const each = (item: unknown, itemPath: string) => valueProblem(field, item, itemPath, depth)
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
  check: (item: unknown, key: K) => string | undefined,
) {
  for (const [key, item] of items) {
    const wrong = check(item, key)
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
  if (isTooLong(field, value)) return `${at} ${tooLongText}`
  const expected = field.scalar === undefined ? undefined : scalars[field.scalar]
  return expected && !expected.fits(value) ? `${at} must be ${expected.name}` : undefined
}

function enumProblem(values: DescEnum, value: unknown, at: string): string | undefined {
  const isKnown = values.values.some(({ name, number }) => value === name || value === number)
  if (isKnown) return undefined
  return `${at} must be one of ${values.values.map(({ name }) => name).join(", ")}`
}

type Scalar = { readonly name: string; readonly fits: (value: unknown) => boolean }

const stringScalar: Scalar = { name: "a string", fits: (value) => typeof value === "string" }
const bytesScalar: Scalar = { name: "a base64 string", fits: isBase64 }
const booleanScalar: Scalar = { name: "true or false", fits: (value) => typeof value === "boolean" }
const numberScalar: Scalar = {
  name: "a number",
  fits: (value) => isNumber(value) || isNonFinite(value),
}

const integerBetween = (least: number, most: number): Scalar => ({
  name: `an integer from ${least} to ${most}`,
  fits: (value) => {
    const number = Number(value)
    return isInteger(value) && Number.isInteger(number) && number >= least && number <= most
  },
})
const int32 = integerBetween(-(2 ** 31), 2 ** 31 - 1)
const uint32 = integerBetween(0, 2 ** 32 - 1)
const int64: Scalar = { name: "a 64-bit integer as a string", fits: isInteger }
const uint64: Scalar = {
  name: "a non-negative 64-bit integer as a string",
  fits: isInteger,
}

const scalars: Readonly<Record<ScalarType, Scalar>> = {
  [ScalarType.DOUBLE]: numberScalar,
  [ScalarType.FLOAT]: numberScalar,
  [ScalarType.INT64]: int64,
  [ScalarType.UINT64]: uint64,
  [ScalarType.INT32]: int32,
  [ScalarType.FIXED64]: uint64,
  [ScalarType.FIXED32]: uint32,
  [ScalarType.BOOL]: booleanScalar,
  [ScalarType.STRING]: stringScalar,
  [ScalarType.BYTES]: bytesScalar,
  [ScalarType.UINT32]: uint32,
  [ScalarType.SFIXED32]: int32,
  [ScalarType.SFIXED64]: int64,
  [ScalarType.SINT32]: int32,
  [ScalarType.SINT64]: int64,
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Numbers can be JSON numbers or strings. */
function isNumber(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value)
  return typeof value === "string" && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(value)
}

/** A text with more digits than this is not a 64-bit number, even with leading zeros. */
const digitsMax = 100

function isInteger(value: unknown): boolean {
  return isNumber(value) && String(value).length <= digitsMax
}

const isNonFinite = (value: unknown) =>
  value === "NaN" || value === "Infinity" || value === "-Infinity"

function isBase64(value: unknown): boolean {
  return typeof value === "string" && /^[\w+/-]*={0,2}$/.test(value)
}

function isTime(value: unknown): boolean {
  const shape = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/
  return typeof value === "string" && shape.test(value) && !Number.isNaN(Date.parse(value))
}

const isShortText = (value: unknown): value is string =>
  typeof value === "string" && value.length <= digitsMax

function isDuration(value: unknown): boolean {
  return isShortText(value) && /^-?\d+(\.\d{1,9})?s$/.test(value)
}
