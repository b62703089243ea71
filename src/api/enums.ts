import { type DescField, type DescMessage, isUnknownEnum } from "@bufbuild/protobuf"
import { getterOf } from "./field.ts"

/** Answers the path of the first enum field whose value the book does not know. */
type Search = (message: object) => string | undefined

const searches = new WeakMap<DescMessage, Search>()

/**
 * Finds an enum value that the book does not know, at any depth. Such numbers pass through every
 * encoding, and no handler should have to expect them.
 */
export function unknownEnumIn(schema: DescMessage, message: object): string | undefined {
  return searchOf(schema)(message)
}

function searchOf(schema: DescMessage): Search {
  const known = searches.get(schema)
  if (known) return known
  let parts: readonly Search[] = []
  const search: Search = (message) => {
    for (const part of parts) {
      const found = part(message)
      if (found !== undefined) return found
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
  if (!look) return undefined
  const get = getterOf(field)
  if (field.fieldKind === "list" || field.fieldKind === "map") {
    return (message) => {
      for (const item of Object.values(Object(get(message)))) {
        const found = look(item)
        if (found !== undefined) return found
      }
      return undefined
    }
  }
  return (message) => look(get(message))
}

/** Looks at one value of the field, below the message that holds it. */
function lookOf({ name, enum: values, message }: DescField) {
  if (values) {
    return (value: unknown) =>
      typeof value === "number" && isUnknownEnum(values, value) ? name : undefined
  }
  // Well-known types hold no enums.
  if (!message || message.typeName.startsWith("google.protobuf.")) return undefined
  const inside = searchOf(message)
  return (value: unknown) => {
    const found = typeof value === "object" && value !== null ? inside(value) : undefined
    return found === undefined ? undefined : `${name}.${found}`
  }
}
