import type { DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf"
import { isObject } from "./json.ts"

/**
 * The described values that differ on the server. Fields that the server does not return, such as
 * passwords, apply only when the resource is created. The fields of a oneof are compared
 * separately, all others as a whole.
 */
export function differencesIn(
  described: JsonObject,
  existing: JsonObject,
  schema: DescMessage,
): JsonObject {
  const found = Object.entries(described).flatMap(([name, value]): [string, JsonValue][] => {
    const field = fieldOf(schema, name)
    if (!field) return []
    const now = existing[name] ?? {}
    if (field.oneof && field.message && isObject(value) && isObject(now)) {
      const inner = differencesIn(value, now, field.message)
      return Object.keys(inner).length === 0 ? [] : [[name, inner]]
    }
    return isSame(value, existing[name], field) ? [] : [[name, value]]
  })
  return Object.fromEntries(found)
}

/** The names of the differing fields, including nested ones. */
export const changedFieldNames = (changed: JsonObject, schema: DescMessage): readonly string[] =>
  Object.entries(changed).flatMap(([name, value]) => {
    const field = fieldOf(schema, name)
    return field?.oneof && field.message && isObject(value)
      ? changedFieldNames(value, field.message).map((inner) => `${name}.${inner}`)
      : [name]
  })

export const fieldOf = (message: DescMessage, name: string): DescField | undefined =>
  message.fields.find(({ jsonName }) => jsonName === name)

function isSame(described: JsonValue, existing: JsonValue | undefined, field: DescField): boolean {
  const { message } = field
  if (isEmpty(described) || isEnumDefault(described, field))
    return isEmpty(existing) || existing === described
  if (Array.isArray(described)) {
    return (
      Array.isArray(existing) && Bun.deepEquals(sortedElements(described), sortedElements(existing))
    )
  }
  // 64-bit numbers are strings in ProtoJSON, but numbers in files.
  if (!isObject(described)) return String(described) === String(existing)
  return (
    isObject(existing) &&
    Object.entries(described).every(([name, value]) => {
      const field = message && fieldOf(message, name)
      return !field || isSame(value, existing[name], field)
    })
  )
}

const sortedElements = (list: readonly JsonValue[]) =>
  list.map((each) => JSON.stringify(canonical(each))).sort()

/** A list element in a comparable form: without empty fields, with sorted keys. */
function canonical(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(canonical)
  if (!isObject(value)) return value
  const stated = Object.entries(value).filter(([, each]) => !isEmpty(each))
  const inOrder = stated.sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(inOrder.map(([name, each]) => [name, canonical(each)]))
}

/** The first value of an enum is its default, which responses omit. */
const isEnumDefault = (described: JsonValue, field: DescField): boolean =>
  field.enum?.values.find(({ number }) => number === 0)?.name === described

/** Responses omit default values. */
const isEmpty = (value: JsonValue | undefined): boolean =>
  value === undefined ||
  value === false ||
  value === "" ||
  value === 0 ||
  (Array.isArray(value) && value.length === 0)
