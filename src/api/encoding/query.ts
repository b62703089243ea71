import {
  type DescField,
  type DescMessage,
  fromJson,
  type Message,
  ScalarType,
} from "@bufbuild/protobuf"
import { Fault } from "../../kernel/fault.ts"
import { nearest, shown } from "../../kernel/text/nearest.ts"
import { decodeProblem } from "../input/decode-problem.ts"

/** JSON under construction. */
type Json = string | number | boolean | Json[] | { [name: string]: Json }

/**
 * Reads a message from the parameters of a URL: "query.limit=5", names in camelCase or snake_case,
 * repeated fields by repeating the parameter, enums by name or number. Refuses unknown ones.
 */
export function decodeParameters(
  schema: DescMessage,
  parameters: Iterable<readonly [name: string, value: string]>,
): Message {
  const json: { [name: string]: Json } = {}
  for (const [name, value] of parameters) put(json, schema, { name, value })
  try {
    return fromJson(schema, json)
  } catch (cause) {
    throw refusalError(
      decodeProblem(schema, json) ?? "a parameter of the address can't be read",
      cause,
    )
  }
}

type Parameter = { readonly name: string; readonly value: string }

function put(root: { [name: string]: Json }, schema: DescMessage, { name, value }: Parameter) {
  let message: DescMessage | undefined = schema
  let json: { [name: string]: Json } = root
  const words = name.split(".")
  for (const [at, word] of words.entries()) {
    const field = fieldOf(message, word, name)
    if (at === words.length - 1) return set(json, field, { name, value })
    const inside: Json = json[field.name] ?? {}
    if (typeof inside !== "object" || Array.isArray(inside)) throw twice(name)
    json[field.name] = inside
    json = inside
    message = field.fieldKind === "message" ? field.message : undefined
  }
}

function fieldOf(schema: DescMessage | undefined, word: string, parameter: string): DescField {
  const fields = schema?.fields ?? []
  const field = fields.find(({ name, jsonName }) => word === name || word === jsonName)
  if (field) return field
  const guess = nearest(
    word,
    fields.map(({ jsonName }) => jsonName),
  )
  const help = guess ? `; did you mean "${guess}"?` : ""
  throw refusalError(`there is no parameter "${shown(parameter)}" here${help}`)
}

function set(json: { [name: string]: Json }, field: DescField, { name, value }: Parameter): void {
  const typed = leafOf(field, value)
  if (typed === undefined) throw refusalError(`${name} can't be given in the address`)
  const before = json[field.name]
  if (field.fieldKind === "list") {
    if (Array.isArray(before)) before.push(typed)
    else json[field.name] = [typed]
    return
  }
  if (before !== undefined) throw twice(name)
  json[field.name] = typed
}

/** A text as the JSON value that the field wants; undefined for messages. */
function leafOf(field: DescField, value: string): Json | undefined {
  if (field.fieldKind === "map") return undefined
  if (field.enum) return /^-?\d+$/.test(value) ? Number(value) : value
  if (field.message) return isText(field.message) ? value : undefined
  const isFlag = field.scalar === ScalarType.BOOL && (value === "true" || value === "false")
  return isFlag ? value === "true" : value
}

/** Well-known types that JSON writes as texts. */
const isText = ({ typeName }: DescMessage): boolean =>
  typeName === "google.protobuf.Timestamp" || typeName === "google.protobuf.Duration"

const twice = (name: string) => refusalError(`the parameter "${name}" is given twice`)

const refusalError = (message: string, cause?: unknown) =>
  new Fault("invalid_argument", "request.invalid", message, { cause })
