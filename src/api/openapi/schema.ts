import {
  type DescEnum,
  type DescField,
  type DescMessage,
  getOption,
  ScalarType,
} from "@bufbuild/protobuf"
import { max_items as maxItems } from "../../gen/core/options_pb.ts"
import { charactersMax } from "../input/bounds.ts"
import { rulesOf } from "../input/rules.ts"
import { itemsMax } from "../input/values.ts"
import { minItemsOf, requirementsOf, withRules } from "./rule.ts"

type Json = Readonly<Record<string, unknown>>

/** The JSON schemas of messages, each described once under its own name. */
export type Schemas = {
  readonly refTo: (message: DescMessage) => Json
  /** The schema of a single value of a field, not of a list. */
  readonly typeOf: (field: DescField) => Json
  /** All schemas that were referenced, directly or indirectly. */
  readonly all: () => Json
}

/** The messages of operations. */
export type RootMessages = {
  readonly requests: ReadonlySet<DescMessage>
  readonly responses: readonly DescMessage[]
  /** The messages that keep a plain name. */
  readonly plainNamed: ReadonlySet<DescMessage>
  /** The fields of a request that are in the path and therefore optional in the body. */
  readonly inPath: (request: DescMessage) => readonly string[]
  /** Names that no message can use. */
  readonly reservedNames: readonly string[]
}

/**
 * The schemas of these messages and of all messages they contain. Requests and the messages that
 * only they contain have the limits that the server enforces.
 */
export function createSchemas({
  requests,
  responses,
  plainNamed,
  inPath,
  reservedNames: stored,
}: RootMessages): Schemas {
  const answered = reachableFrom(responses)
  const reached = new Set([...answered, ...reachableFrom([...requests])])
  const names = namesOf([...reached], plainNamed, stored)
  const used = new Set<DescMessage>()
  const refTo = (message: DescMessage): Json => {
    const known = wellKnown[message.typeName]
    if (!known) used.add(message)
    return known ?? { $ref: `#/components/schemas/${names.get(message)}` }
  }
  const typeOf = (field: DescField) => valueSchema(field, refTo)
  const limitedOf = (field: DescField) => withRules(field, withLimits(field, typeOf(field)))
  const objectOf = (message: DescMessage): Json => {
    const isSent = requests.has(message) || !answered.has(message)
    const propertyOf = (field: DescField): Json =>
      isSent
        ? { ...fieldSchema(field, limitedOf), ...maxItemsOf(field) }
        : fieldSchema(field, typeOf)
    return {
      type: "object",
      ...(isSent && requirementsOf(message, inPath(message))),
      properties: Object.fromEntries(
        message.fields.map((field) => [field.jsonName, propertyOf(field)]),
      ),
    }
  }
  return {
    refTo,
    typeOf: limitedOf,
    all: () => {
      const described = new Map<string, Json>()
      // The set grows during the loop because describing a message references nested messages.
      for (const message of used) described.set(names.get(message) ?? "", objectOf(message))
      return Object.fromEntries([...described].sort(([a], [b]) => (a < b ? -1 : 1)))
    },
  }
}

function reachableFrom(roots: readonly DescMessage[]): ReadonlySet<DescMessage> {
  const reached = new Set<DescMessage>()
  const reach = (message: DescMessage) => {
    if (wellKnown[message.typeName] || reached.has(message)) return
    reached.add(message)
    for (const field of message.fields) if (field.message) reach(field.message)
  }
  for (const root of roots) reach(root)
  return reached
}

/** The limits of every request: the length of strings and the digits of numbers. */
function withLimits({ scalar }: DescField, schema: Json): Json {
  return scalar === undefined ? schema : { ...schema, ...scalarLimits[scalar] }
}

const int32 = { minimum: -(2 ** 31), maximum: 2 ** 31 - 1 }
const uint32 = { minimum: 0, maximum: 2 ** 32 - 1 }
const int64 = { pattern: "^-?\\d{1,19}$" }
const uint64 = { pattern: "^\\d{1,20}$" }

const scalarLimits: Readonly<Record<number, Json>> = {
  [ScalarType.STRING]: { maxLength: charactersMax },
  [ScalarType.BYTES]: { pattern: "^[\\w+/-]*={0,2}$" },
  [ScalarType.INT32]: int32,
  [ScalarType.SINT32]: int32,
  [ScalarType.SFIXED32]: int32,
  [ScalarType.UINT32]: uint32,
  [ScalarType.FIXED32]: uint32,
  [ScalarType.INT64]: int64,
  [ScalarType.SINT64]: int64,
  [ScalarType.SFIXED64]: int64,
  [ScalarType.UINT64]: uint64,
  [ScalarType.FIXED64]: uint64,
}

/** The maximum number of elements of a list in a request. */
function maxItemsOf(field: DescField): Json {
  if (field.fieldKind === "list")
    return { ...minItemsOf(field), maxItems: getOption(field, maxItems) || itemsMax }
  return field.fieldKind === "map" ? { maxProperties: itemsMax } : {}
}

/**
 * The plain name of each message, or the full name if another message has the same plain name.
 * Names that differ only in case are the same, because generators create a file for each.
 */
function namesOf(
  messages: readonly DescMessage[],
  first: ReadonlySet<DescMessage>,
  stored: readonly string[],
): ReadonlyMap<DescMessage, string> {
  const plainNamed = ({ typeName, file }: DescMessage) =>
    typeName.slice(file.proto.package.length + 1)
  const keyOf = (message: DescMessage) => plainNamed(message).toLowerCase()
  const count = new Map(stored.map((name) => [name.toLowerCase(), 1]))
  for (const message of messages) count.set(keyOf(message), (count.get(keyOf(message)) ?? 0) + 1)
  return new Map(
    messages.map((message) => {
      const isOnly = count.get(keyOf(message)) === 1 || first.has(message)
      return [message, isOnly ? plainNamed(message) : message.typeName]
    }),
  )
}

function fieldSchema(field: DescField, typeOf: (field: DescField) => Json): Json {
  const old = field.deprecated ? { deprecated: true } : {}
  const value = typeOf(field)
  if (field.fieldKind === "list") return { type: "array", items: value, ...old }
  if (field.fieldKind === "map") return { type: "object", additionalProperties: value, ...old }
  // Other keys next to a reference are ignored.
  return field.deprecated && "$ref" in value ? { allOf: [value], ...old } : { ...value, ...old }
}

function valueSchema(field: DescField, refTo: (message: DescMessage) => Json): Json {
  if (field.message) return refTo(field.message)
  if (field.enum) return { type: "string", enum: field.enum.values.map(({ name }) => name) }
  return scalars[field.scalar ?? ScalarType.STRING] ?? { type: "string" }
}

const integer = (format: string) => ({ type: "integer", format })
const text = (format: string) => ({ type: "string", format })

/** The proto3 JSON types, in which 64-bit numbers are strings. */
const scalars: Readonly<Record<number, Json>> = {
  [ScalarType.BOOL]: { type: "boolean" },
  [ScalarType.STRING]: { type: "string" },
  [ScalarType.BYTES]: text("byte"),
  [ScalarType.DOUBLE]: { type: "number", format: "double" },
  [ScalarType.FLOAT]: { type: "number", format: "float" },
  [ScalarType.INT32]: integer("int32"),
  [ScalarType.SINT32]: integer("int32"),
  [ScalarType.SFIXED32]: integer("int32"),
  [ScalarType.UINT32]: integer("uint32"),
  [ScalarType.FIXED32]: integer("uint32"),
  [ScalarType.INT64]: text("int64"),
  [ScalarType.SINT64]: text("int64"),
  [ScalarType.SFIXED64]: text("int64"),
  [ScalarType.UINT64]: text("uint64"),
  [ScalarType.FIXED64]: text("uint64"),
}

/** Well-known types with their own JSON form. */
const wellKnown: Readonly<Record<string, Json>> = {
  "google.protobuf.Timestamp": text("date-time"),
  "google.protobuf.Duration": {
    type: "string",
    pattern: "^-?\\d+(\\.\\d{1,9})?s$",
    example: "3.5s",
  },
  "google.protobuf.FieldMask": {
    type: "string",
    pattern: "^[^_]*$",
    example: "forceMfa,allowRegister",
  },
  "google.protobuf.Struct": { type: "object", additionalProperties: true },
  "google.protobuf.Value": {},
  "google.protobuf.Empty": { type: "object" },
  "google.protobuf.Any": {
    type: "object",
    properties: { "@type": { type: "string" } },
    additionalProperties: true,
  },
}

/**
 * The URL parameters of a call: every field, with dotted names for nested fields, but no messages.
 */
export function parametersOf(
  schemas: Schemas,
  message: DescMessage,
  without: readonly string[],
): readonly Json[] {
  const taken = new Set(without)
  const walk = (within: DescMessage, prefix: string, ancestors: readonly DescMessage[]): Json[] =>
    within.fields.flatMap((field) => {
      if (taken.has(`${prefix}${field.name}`) || field.fieldKind === "map") return []
      const { message: inside } = field
      if (!inside || wellKnown[inside.typeName]?.type === "string") {
        const required = prefix === "" && rulesOf(field).required ? { required: true } : {}
        const name = `${toCamelCase(prefix)}${field.jsonName}`
        return [{ name, ...required, ...queryParameter(schemas, field) }]
      }
      // Repeated and recursive messages can't be URL parameters.
      if (field.fieldKind === "list" || ancestors.includes(inside)) return []
      return walk(inside, `${prefix}${field.name}.`, [...ancestors, inside])
    })
  return walk(message, "", [message])
}

/** Bodies use the names of enum values, but the interface uses their numbers in URLs. */
const queryParameter = (schemas: Schemas, field: DescField) => ({
  in: "query",
  ...(field.enum && { description: describeEnum(field.enum) }),
  schema: {
    ...fieldSchema(field, (each) => enumNumbersOf(each) ?? schemas.typeOf(each)),
    ...maxItemsOf(field),
  },
})

const enumNumbersOf = (field: DescField): Json | undefined =>
  field.enum && { type: "integer", enum: field.enum.values.map(({ number }) => number) }

const describeEnum = ({ values }: DescEnum): string =>
  values.map(({ number, name }) => `${number}: ${name}`).join(", ")

const toCamelCase = (prefix: string) =>
  prefix.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
