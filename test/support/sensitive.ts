// What the book marks as sensitive, in messages as proto3 JSON.
import {
  type DescField,
  type DescMessage,
  getOption,
  type JsonObject,
  type JsonValue,
} from "@bufbuild/protobuf"
import { sensitive } from "../../src/gen/core/options_pb.ts"

type Change = (field: DescField, value: JsonValue) => JsonValue

const isPlain = ({ typeName }: DescMessage) => typeName.startsWith("google.protobuf.")

/** The same message with each sensitive field, at any depth, as `change` wants it. */
export function changed(schema: DescMessage, json: JsonValue, change: Change): JsonValue {
  if (Array.isArray(json)) return json.map((each) => changed(schema, each, change))
  if (typeof json !== "object" || json === null || isPlain(schema)) return json
  const entries = Object.entries(json).map(([name, value]) => {
    const field = schema.fields.find(({ jsonName }) => jsonName === name)
    if (field && getOption(field, sensitive)) return [name, change(field, value)]
    return [name, field?.message ? changed(field.message, value, change) : value]
  })
  return Object.fromEntries(entries)
}

const textsIn = (json: JsonValue): readonly string[] =>
  typeof json === "string" ? [json] : json && typeof json === "object" ? inside(json) : []

const inside = (json: JsonObject | JsonValue[]) => Object.values(json).flatMap(textsIn)

/** Every text that stands in a sensitive field; bytes as they are written and as they are. */
export function secretsIn(schema: DescMessage, json: JsonValue): readonly string[] {
  const found: string[] = []
  changed(schema, json, (field, value) => {
    const texts = textsIn(value)
    const isBytes = field.fieldKind === "scalar" && typeof value === "string" && bytes(field)
    found.push(...texts)
    if (isBytes) found.push(...texts.map((text) => Buffer.from(text, "base64").toString()))
    return value
  })
  return found
}

/** ScalarType.BYTES */
const bytes = (field: DescField) => field.fieldKind === "scalar" && field.scalar === 12

/** The message with `secret` in each sensitive field that it has. */
export const planted = (schema: DescMessage, json: JsonValue, secret: string): JsonValue =>
  changed(schema, json, (field, value) => {
    if (bytes(field)) return Buffer.from(secret).toString("base64")
    if (Array.isArray(value)) return [secret]
    return typeof value === "string" ? secret : value
  })

/** The message without its sensitive fields. */
export const shownOf = (schema: DescMessage, json: JsonValue): string =>
  JSON.stringify(changed(schema, json, () => "***"))

/** Whether a message has a sensitive field, at any depth. */
export function hasSecrets(schema: DescMessage, seen = new Set<string>()): boolean {
  if (seen.has(schema.typeName)) return false
  seen.add(schema.typeName)
  return schema.fields.some(
    (field) => getOption(field, sensitive) || (field.message && hasSecrets(field.message, seen)),
  )
}
