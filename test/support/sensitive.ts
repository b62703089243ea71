// Fields marked as sensitive in the API, in messages as proto3 JSON.
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

/** The message with each sensitive field, at any depth, replaced by `change`. */
export function changeSensitive(schema: DescMessage, json: JsonValue, change: Change): JsonValue {
  if (Array.isArray(json)) return json.map((each) => changeSensitive(schema, each, change))
  if (typeof json !== "object" || json === null || isPlain(schema)) return json
  const entries = Object.entries(json).map(([name, value]) => {
    const field = schema.fields.find(({ jsonName }) => jsonName === name)
    if (field && getOption(field, sensitive)) return [name, change(field, value)]
    return [name, field?.message ? changeSensitive(field.message, value, change) : value]
  })
  return Object.fromEntries(entries)
}

const textsIn = (json: JsonValue): readonly string[] =>
  typeof json === "string" ? [json] : json && typeof json === "object" ? textsInside(json) : []

const textsInside = (json: JsonObject | JsonValue[]) => Object.values(json).flatMap(textsIn)

/** Every text in a sensitive field; bytes both encoded and decoded. */
export function listSecrets(schema: DescMessage, json: JsonValue): readonly string[] {
  const found: string[] = []
  changeSensitive(schema, json, (field, value) => {
    const texts = textsIn(value)
    const isBytes = field.fieldKind === "scalar" && typeof value === "string" && isBytesField(field)
    found.push(...texts)
    if (isBytes) found.push(...texts.map((text) => Buffer.from(text, "base64").toString()))
    return value
  })
  return found
}

/** ScalarType.BYTES */
const isBytesField = (field: DescField) => field.fieldKind === "scalar" && field.scalar === 12

/** The message with `secret` in each of its sensitive fields. */
export const plantSecret = (schema: DescMessage, json: JsonValue, secret: string): JsonValue =>
  changeSensitive(schema, json, (field, value) => {
    if (isBytesField(field)) return Buffer.from(secret).toString("base64")
    if (Array.isArray(value)) return [secret]
    return typeof value === "string" ? secret : value
  })

/** The message without its sensitive fields. */
export const withoutSecrets = (schema: DescMessage, json: JsonValue): string =>
  JSON.stringify(changeSensitive(schema, json, () => "***"))

/** Whether a message has a sensitive field, at any depth. */
export function hasSecrets(schema: DescMessage, visited = new Set<string>()): boolean {
  if (visited.has(schema.typeName)) return false
  visited.add(schema.typeName)
  return schema.fields.some(
    (field) => getOption(field, sensitive) || (field.message && hasSecrets(field.message, visited)),
  )
}
