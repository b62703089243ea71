import type { DescField, DescMessage, Message } from "@bufbuild/protobuf"

/** Reads one field of a request; undefined if the field or a message on the path is not set. */
export type Reader = (message: Message) => unknown

/**
 * The fields on a dotted path of proto names; undefined if the path doesn't exist in the message.
 */
export function fieldsOf(message: DescMessage, path: string): readonly DescField[] | undefined {
  const fields: DescField[] = []
  let within: DescMessage | undefined = message
  for (const name of path.split(".")) {
    const field: DescField | undefined = within?.fields.find((each) => each.name === name)
    if (!field) return undefined
    fields.push(field)
    within = field.fieldKind === "message" ? field.message : undefined
  }
  return fields
}

/** Resolves the path once at start, so that a call only runs the prepared getters. */
export function readerOf(fields: readonly DescField[]): Reader {
  const steps = fields.map(getterOf)
  return (message) => {
    let value: unknown = message
    for (const step of steps) {
      if (typeof value !== "object" || value === null) return undefined
      value = step(value)
    }
    return value
  }
}

/** Returns a getter for one field of its message, also if the field belongs to a oneof. */
export function getterOf({ localName, oneof }: DescField): (from: object) => unknown {
  if (!oneof) return (from) => Reflect.get(from, localName)
  const group = oneof.localName
  return (from) => {
    const chosen: unknown = Reflect.get(from, group)
    if (typeof chosen !== "object" || chosen === null) return undefined
    return Reflect.get(chosen, "case") === localName ? Reflect.get(chosen, "value") : undefined
  }
}
