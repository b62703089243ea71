import {
  type DescField,
  type DescMessage,
  getOption,
  type Message,
  toJson,
} from "@bufbuild/protobuf"
import { sensitive } from "../gen/core/options_pb.ts"

const redactedValue = "***"

/** A message as JSON for logs, audit and events, with sensitive fields redacted at any depth. */
export function redact(schema: DescMessage, message: Message): unknown {
  return redactObject(schema, toJson(schema, message))
}

function redactObject(schema: DescMessage, json: unknown): unknown {
  if (typeof json !== "object" || json === null || isText(schema)) return json
  const fields = new Map(schema.fields.map((field) => [field.jsonName, field]))
  const entries = Object.entries(json).map(([name, value]) => {
    const field = fields.get(name)
    return [name, field ? redactField(field, value) : redactedValue]
  })
  return Object.fromEntries(entries)
}

function redactField(field: DescField, json: unknown): unknown {
  if (getOption(field, sensitive)) return redactedValue
  const inside = field.message
  if (!inside) return json
  if (field.fieldKind === "list" && Array.isArray(json)) {
    return json.map((item) => redactObject(inside, item))
  }
  if (field.fieldKind === "map") {
    const entries = Object.entries(Object(json)).map(([key, value]) => [
      key,
      redactObject(inside, value),
    ])
    return Object.fromEntries(entries)
  }
  return redactObject(inside, json)
}

/** Timestamps and durations are strings in JSON. */
const isText = (schema: DescMessage) => schema.typeName.startsWith("google.protobuf.")
