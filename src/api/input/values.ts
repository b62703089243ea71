import {
  type DescField,
  type DescMessage,
  getOption,
  isUnknownEnum,
  ScalarType,
} from "@bufbuild/protobuf"
import { max_items as maxItems } from "../../gen/core/options_pb.ts"
import { fieldError } from "../../kernel/fault.ts"
import { isTooLong, tooLongText } from "./bounds.ts"
import { getterOf } from "./field.ts"

/**
 * The maximum number of elements in all lists of one request. An element costs a handler much more
 * than it costs to decode, so this is lower than the limit of parts. If a list has a lower maximum,
 * each of its elements weighs proportionally more.
 */
export const itemsMax = 1000

/** The problem with a value, and its path. */
type Violation = { readonly id: string; readonly path: string; readonly reason: string }

type Check = (message: object, count: Count) => Violation | undefined
type Count = { items: number }
type ValueCheck = (value: unknown, count: Count) => Violation | undefined

const checks = new WeakMap<DescMessage, Check>()

/**
 * Rejects values that are valid in every encoding but that no handler expects, at any depth:
 * unknown enum values, lists with too many elements, texts that are too long.
 */
export function checkValues(schema: DescMessage, message: object): void {
  const violation = checkOf(schema)(message, { items: 0 })
  if (violation) throw fieldError(violation.id, violation.path, violation.reason)
}

function checkOf(schema: DescMessage): Check {
  const cached = checks.get(schema)
  if (cached) return cached
  let parts: readonly Check[] = []
  const search: Check = (message, count) => {
    for (const part of parts) {
      const violation = part(message, count)
      if (violation) return violation
    }
    return undefined
  }
  // Stored before it is filled because messages can be recursive.
  checks.set(schema, search)
  parts = schema.fields.flatMap((field) => fieldCheckOf(field) ?? [])
  return search
}

function fieldCheckOf(field: DescField): Check | undefined {
  const check = valueCheckOf(field)
  const get = getterOf(field)
  if (field.fieldKind === "list" || field.fieldKind === "map") {
    const most = getOption(field, maxItems) || itemsMax
    return (message, count) => {
      const items = Object.values(Object(get(message)))
      // The order of operations keeps the result an integer for the largest allowed list.
      count.items += (items.length * itemsMax) / most
      if (count.items > itemsMax) return tooMany(field.name, most)
      return check && findFirst(items, (item) => check(item, count))
    }
  }
  return check && ((message, count) => check(get(message), count))
}

function findFirst(items: readonly unknown[], check: (item: unknown) => Violation | undefined) {
  for (const item of items) {
    const violation = check(item)
    if (violation) return violation
  }
  return undefined
}

/** A check for one value of the field and the messages below it. */
function valueCheckOf(field: DescField): ValueCheck | undefined {
  const { name, enum: values, message, scalar } = field
  if (values) {
    return (value) =>
      typeof value === "number" && isUnknownEnum(values, value) ? unknownEnum(name) : undefined
  }
  if (scalar === ScalarType.STRING) {
    return (value) => (isTooLong(field, value) ? textTooLong(name) : undefined)
  }
  // No well-known type contains an enum or a list.
  if (!message || message.typeName.startsWith("google.protobuf.")) return undefined
  const nested = checkOf(message)
  return (value, count) => {
    const violation = typeof value === "object" && value !== null ? nested(value, count) : undefined
    return violation && { ...violation, path: `${name}.${violation.path}` }
  }
}

const unknownEnum = (path: string): Violation => ({
  id: "request.enum_unknown",
  path,
  reason: "has a value that is not defined for this enum",
})

const tooMany = (path: string, most: number): Violation => ({
  id: "request.too_many_items",
  path,
  reason:
    `must have at most ${most} elements, fewer if the request has other lists; split it into ` +
    "several calls",
})

const textTooLong = (path: string): Violation => ({
  id: "request.text_too_long",
  path,
  reason: tooLongText,
})
