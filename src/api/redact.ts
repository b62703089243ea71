import {
  type DescField,
  type DescMessage,
  getOption,
  type Message,
  toJson,
} from "@bufbuild/protobuf"
import { sensitive } from "../gen/core/options_pb.ts"

const hidden = "***"

/** A message as JSON for logs, audit and events: sensitive fields are hidden at any depth. */
export function redacted(schema: DescMessage, message: Message): unknown {
  return hide(schema, toJson(schema, message))
}

function hide(schema: DescMessage, json: unknown): unknown {
  if (typeof json !== "object" || json === null || isText(schema)) return json
  const fields = new Map(schema.fields.map((field) => [field.jsonName, field]))
  const entries = Object.entries(json).map(([name, value]) => {
    const field = fields.get(name)
    return [name, field ? hideField(field, value) : hidden]
  })
  return Object.fromEntries(entries)
}

function hideField(field: DescField, json: unknown): unknown {
  if (getOption(field, sensitive)) return hidden
  const inside = field.message
  if (!inside) return json
  if (field.fieldKind === "list" && Array.isArray(json)) {
    return json.map((item) => hide(inside, item))
  }
  if (field.fieldKind === "map") {
    const entries = Object.entries(Object(json)).map(([key, value]) => [key, hide(inside, value)])
    return Object.fromEntries(entries)
  }
  return hide(inside, json)
}

/** Times and durations are texts in JSON. */
const isText = (schema: DescMessage) => schema.typeName.startsWith("google.protobuf.")
