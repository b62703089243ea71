import {
  type DescField,
  type DescMessage,
  getOption,
  isUnknownEnum,
  ScalarType,
} from "@bufbuild/protobuf"
import { max_items as maxItems } from "../../gen/core/options_pb.ts"
import { fieldError } from "../../kernel/fault.ts"
import { isTooLong, tooLong } from "./bounds.ts"
import { getterOf } from "./field.ts"

/**
 * Elements that the lists of one request may have together. Each costs a handler many times what it
 * costs to be read, so that far fewer are allowed than a body may have parts. Where the book allows
 * a list less, each of its elements counts for as much more.
 */
export const itemsMax = 1000

/** What is wrong with a value, and where. */
type Misfit = { readonly id: string; readonly path: string; readonly why: string }

type Search = (message: object, count: Count) => Misfit | undefined
type Count = { items: number }
type Look = (value: unknown, count: Count) => Misfit | undefined

const searches = new WeakMap<DescMessage, Search>()

/**
 * Refuses values that pass through every encoding, at any depth, and that no handler should have to
 * expect: an enum's that the book does not know, lists with too many elements, texts too long.
 */
export function checkValues(schema: DescMessage, message: object): void {
  const found = searchOf(schema)(message, { items: 0 })
  if (found) throw fieldError(found.id, found.path, found.why)
}

function searchOf(schema: DescMessage): Search {
  const known = searches.get(schema)
  if (known) return known
  let parts: readonly Search[] = []
  const search: Search = (message, count) => {
    for (const part of parts) {
      const found = part(message, count)
      if (found) return found
    }
    return undefined
  }
  // Known before its parts are made: messages may contain themselves.
  searches.set(schema, search)
  parts = schema.fields.flatMap((field) => partOf(field) ?? [])
  return search
}

function partOf(field: DescField): Search | undefined {
  const look = lookOf(field)
  const get = getterOf(field)
  if (field.fieldKind === "list" || field.fieldKind === "map") {
    const most = getOption(field, maxItems) || itemsMax
    return (message, count) => {
      const items = Object.values(Object(get(message)))
      // In this order: of the largest list that is allowed the quotient is whole.
      count.items += (items.length * itemsMax) / most
      if (count.items > itemsMax) return tooMany(field.name, most)
      return look && first(items, (item) => look(item, count))
    }
  }
  return look && ((message, count) => look(get(message), count))
}

function first(items: readonly unknown[], look: (item: unknown) => Misfit | undefined) {
  for (const item of items) {
    const found = look(item)
    if (found) return found
  }
  return undefined
}

/** Looks at one value of the field, below the message that holds it. */
function lookOf(field: DescField): Look | undefined {
  const { name, enum: values, message, scalar } = field
  if (values) {
    return (value) =>
      typeof value === "number" && isUnknownEnum(values, value) ? unknownEnum(name) : undefined
  }
  if (scalar === ScalarType.STRING) {
    return (value) => (isTooLong(field, value) ? textTooLong(name) : undefined)
  }
  // Of well-known types none holds an enum or a list.
  if (!message || message.typeName.startsWith("google.protobuf.")) return undefined
  const inside = searchOf(message)
  return (value, count) => {
    const found = typeof value === "object" && value !== null ? inside(value, count) : undefined
    return found && { ...found, path: `${name}.${found.path}` }
  }
}

const unknownEnum = (path: string): Misfit => ({
  id: "request.enum_unknown",
  path,
  why: "has a value that this server does not know",
})

const tooMany = (path: string, most: number): Misfit => ({
  id: "request.too_many_items",
  path,
  why: `may have at most ${most} elements, fewer beside other lists; send several calls`,
})

const textTooLong = (path: string): Misfit => ({
  id: "request.text_too_long",
  path,
  why: tooLong,
})
