import {
  type DescField,
  type DescMessage,
  fromJson,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf"
import { Fault } from "../../kernel/fault.ts"
import { findNearest, truncateInput } from "../../kernel/text/nearest.ts"
import { decodeProblem } from "../input/decode-problem.ts"

/** JSON under construction. */
type Json = string | number | boolean | Json[] | { [name: string]: Json }

/**
 * Decodes a message from URL parameters such as "query.limit=5". Names can be camelCase or
 * snake_case, repeated fields repeat the parameter, enums are names or numbers. Rejects unknown
 * parameters.
 */
export function decodeParameters(
  schema: DescMessage,
  parameters: Iterable<readonly [name: string, value: string]>,
): Message {
  const json: { [name: string]: Json } = {}
  for (const [name, value] of parameters) setParameter(json, schema, { name, value })
  try {
    return fromJson(schema, json)
  } catch (cause) {
    throw parameterError(decodeProblem(schema, json) ?? "a URL parameter is invalid", cause)
  }
}

type Parameter = { readonly name: string; readonly value: string }

function setParameter(
  root: { [name: string]: Json },
  schema: DescMessage,
  { name, value }: Parameter,
) {
  let message: DescMessage | undefined = schema
  let json: { [name: string]: Json } = root
  const segments = name.split(".")
  for (const [at, fieldName] of segments.entries()) {
    const field = fieldOf(message, fieldName, name)
    if (at === segments.length - 1) return setField(json, field, { name, value })
    const inside: Json = json[field.name] ?? {}
    if (typeof inside !== "object" || Array.isArray(inside)) throw duplicateError(name)
    json[field.name] = inside
    json = inside
    message = field.fieldKind === "message" ? field.message : undefined
  }
}

function fieldOf(schema: DescMessage | undefined, fieldName: string, parameter: string): DescField {
  const fields = schema?.fields ?? []
  const field = fields.find(({ name, jsonName }) => fieldName === name || fieldName === jsonName)
  if (field) return field
  const guess = findNearest(
    fieldName,
    fields.map(({ jsonName }) => jsonName),
  )
  const help = guess ? `; did you mean "${guess}"?` : ""
  throw parameterError(`unknown parameter "${truncateInput(parameter)}"${help}`)
}

function setField(
  json: { [name: string]: Json },
  field: DescField,
  { name, value }: Parameter,
): void {
  const typed = scalarFrom(field, value)
  if (typed === undefined) throw parameterError(`${name} can't be a URL parameter`)
  const before = json[field.name]
  if (field.fieldKind === "list") {
    if (Array.isArray(before)) before.push(typed)
    else json[field.name] = [typed]
    return
  }
  if (before !== undefined) throw duplicateError(name)
  json[field.name] = typed
}

/** A text as the JSON value of the field's type; undefined for messages. */
function scalarFrom(field: DescField, value: string): Json | undefined {
  if (field.fieldKind === "map") return undefined
  if (field.enum) return /^-?\d+$/.test(value) ? Number(value) : value
  if (field.message) return isText(field.message) ? value : undefined
  const isFlag = field.scalar === ScalarType.BOOL && (value === "true" || value === "false")
  return isFlag ? value === "true" : value
}

/** Well-known types that are strings in JSON. */
const isText = ({ typeName }: DescMessage): boolean =>
  typeName === "google.protobuf.Timestamp" || typeName === "google.protobuf.Duration"

const duplicateError = (name: string) => parameterError(`the parameter "${name}" appears twice`)

const parameterError = (message: string, cause?: unknown) =>
  new Fault("invalid_argument", "request.invalid", message, { cause })
