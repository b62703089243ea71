import type { DescField, DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf"
import { isObject } from "./json.ts"

/**
 * What of a described thing is otherwise on the server. Fields that the server does not show, a
 * password for example, count when a thing is made and never again; of alternatives (a oneof) each
 * field is looked at by itself, everything else as a whole.
 */
export function differing(given: JsonObject, there: JsonObject, shown: DescMessage): JsonObject {
  const found = Object.entries(given).flatMap(([name, value]): [string, JsonValue][] => {
    const field = fieldOf(shown, name)
    if (!field) return []
    const now = there[name] ?? {}
    if (field.oneof && field.message && isObject(value) && isObject(now)) {
      const inner = differing(value, now, field.message)
      return Object.keys(inner).length === 0 ? [] : [[name, inner]]
    }
    return isSame(value, there[name], field) ? [] : [[name, value]]
  })
  return Object.fromEntries(found)
}

/** The names of what differs, down to the fields themselves. */
export const namesOf = (changed: JsonObject, shown: DescMessage): readonly string[] =>
  Object.entries(changed).flatMap(([name, value]) => {
    const field = fieldOf(shown, name)
    return field?.oneof && field.message && isObject(value)
      ? namesOf(value, field.message).map((inner) => `${name}.${inner}`)
      : [name]
  })

export const fieldOf = (message: DescMessage, name: string): DescField | undefined =>
  message.fields.find(({ jsonName }) => jsonName === name)

function isSame(given: JsonValue, there: JsonValue | undefined, field: DescField): boolean {
  const { message } = field
  if (isEmpty(given) || isFirst(given, field)) return isEmpty(there) || there === given
  if (Array.isArray(given)) {
    return Array.isArray(there) && Bun.deepEquals(sorted(given), sorted(there))
  }
  // Large numbers are texts in what the server says (ProtoJSON), and numbers where people write.
  if (!isObject(given)) return String(given) === String(there)
  return (
    isObject(there) &&
    Object.entries(given).every(([name, value]) => {
      const field = message && fieldOf(message, name)
      return !field || isSame(value, there[name], field)
    })
  )
}

const sorted = (list: readonly JsonValue[]) =>
  list.map((each) => JSON.stringify(canonical(each))).sort()

/** An entry of a list as an answer has it: without empty fields, in one order. */
function canonical(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(canonical)
  if (!isObject(value)) return value
  const stated = Object.entries(value).filter(([, each]) => !isEmpty(each))
  const inOrder = stated.sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(inOrder.map(([name, each]) => [name, canonical(each)]))
}

/** Of a choice, what is meant where nothing is said: an answer leaves that out, too. */
const isFirst = (given: JsonValue, field: DescField): boolean =>
  field.enum?.values.find(({ number }) => number === 0)?.name === given

/** An answer leaves out what has the value that says nothing. */
const isEmpty = (value: JsonValue | undefined): boolean =>
  value === undefined ||
  value === false ||
  value === "" ||
  value === 0 ||
  (Array.isArray(value) && value.length === 0)
