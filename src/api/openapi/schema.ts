import {
  type DescEnum,
  type DescField,
  type DescMessage,
  getOption,
  ScalarType,
} from "@bufbuild/protobuf"
import { max_items as maxItems } from "../../gen/core/options_pb.ts"
import { lettersMax } from "../input/bounds.ts"
import { rulesOf } from "../input/rules.ts"
import { itemsMax } from "../input/values.ts"
import { demandsOf, fewest, ruled } from "./rule.ts"

type Json = Readonly<Record<string, unknown>>

/** What messages look like in JSON, each described once and named by its own name. */
export type Schemas = {
  readonly refTo: (message: DescMessage) => Json
  /** One value of a field, not a list of them. */
  readonly typeOf: (field: DescField) => Json
  /** Those that were referred to, and those within them. */
  readonly all: () => Json
}

/** The messages of operations. */
export type Roots = {
  readonly requests: ReadonlySet<DescMessage>
  readonly answers: readonly DescMessage[]
  /** Those that keep a plain name. */
  readonly plain: ReadonlySet<DescMessage>
  /** Fields of a request that its path fills, so that its body needs none of them. */
  readonly inPath: (request: DescMessage) => readonly string[]
  /** Names that no message takes. */
  readonly kept: readonly string[]
}

/**
 * Describes these messages, and all that lies within them. Requests, and what only they contain,
 * carry the limits that the server applies to them.
 */
export function schemasOf({ requests, answers, plain, inPath, kept }: Roots): Schemas {
  const answered = reachedFrom(answers)
  const reached = new Set([...answered, ...reachedFrom([...requests])])
  const names = namesOf([...reached], plain, kept)
  const used = new Set<DescMessage>()
  const refTo = (message: DescMessage): Json => {
    const known = wellKnown[message.typeName]
    if (!known) used.add(message)
    return known ?? { $ref: `#/components/schemas/${names.get(message)}` }
  }
  const typeOf = (field: DescField) => valueSchema(field, refTo)
  const limitedOf = (field: DescField) => ruled(field, limited(field, typeOf(field)))
  const objectOf = (message: DescMessage): Json => {
    const isSent = requests.has(message) || !answered.has(message)
    const propertyOf = (field: DescField): Json =>
      isSent
        ? { ...fieldSchema(field, limitedOf), ...countLimit(field) }
        : fieldSchema(field, typeOf)
    return {
      type: "object",
      ...(isSent && demandsOf(message, inPath(message))),
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
      // Grows while it is walked: to describe a message names those within it.
      for (const message of used) described.set(names.get(message) ?? "", objectOf(message))
      return Object.fromEntries([...described].sort(([a], [b]) => (a < b ? -1 : 1)))
    },
  }
}

function reachedFrom(roots: readonly DescMessage[]): ReadonlySet<DescMessage> {
  const reached = new Set<DescMessage>()
  const reach = (message: DescMessage) => {
    if (wellKnown[message.typeName] || reached.has(message)) return
    reached.add(message)
    for (const field of message.fields) if (field.message) reach(field.message)
  }
  for (const root of roots) reach(root)
  return reached
}

/** What every request is checked for: the letters of a text, and the digits of a number. */
function limited({ scalar }: DescField, schema: Json): Json {
  return scalar === undefined ? schema : { ...schema, ...limits[scalar] }
}

const int32 = { minimum: -(2 ** 31), maximum: 2 ** 31 - 1 }
const uint32 = { minimum: 0, maximum: 2 ** 32 - 1 }
const int64 = { pattern: "^-?\\d{1,19}$" }
const uint64 = { pattern: "^\\d{1,20}$" }

const limits: Readonly<Record<number, Json>> = {
  [ScalarType.STRING]: { maxLength: lettersMax },
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

/** How many elements a list of a request may have. */
function countLimit(field: DescField): Json {
  if (field.fieldKind === "list")
    return { ...fewest(field), maxItems: getOption(field, maxItems) || itemsMax }
  return field.fieldKind === "map" ? { maxProperties: itemsMax } : {}
}

/**
 * The plain name of each, or the full one where another has it: also in other case, since
 * generators make a file of each.
 */
function namesOf(
  messages: readonly DescMessage[],
  first: ReadonlySet<DescMessage>,
  kept: readonly string[],
): ReadonlyMap<DescMessage, string> {
  const plain = ({ typeName, file }: DescMessage) => typeName.slice(file.proto.package.length + 1)
  const keyOf = (message: DescMessage) => plain(message).toLowerCase()
  const count = new Map(kept.map((name) => [name.toLowerCase(), 1]))
  for (const message of messages) count.set(keyOf(message), (count.get(keyOf(message)) ?? 0) + 1)
  return new Map(
    messages.map((message) => {
      const isOnly = count.get(keyOf(message)) === 1 || first.has(message)
      return [message, isOnly ? plain(message) : message.typeName]
    }),
  )
}

function fieldSchema(field: DescField, typeOf: (field: DescField) => Json): Json {
  const old = field.deprecated ? { deprecated: true } : {}
  const value = typeOf(field)
  if (field.fieldKind === "list") return { type: "array", items: value, ...old }
  if (field.fieldKind === "map") return { type: "object", additionalProperties: value, ...old }
  // Beside a reference nothing else counts.
  return field.deprecated && "$ref" in value ? { allOf: [value], ...old } : { ...value, ...old }
}

function valueSchema(field: DescField, refTo: (message: DescMessage) => Json): Json {
  if (field.message) return refTo(field.message)
  if (field.enum) return { type: "string", enum: field.enum.values.map(({ name }) => name) }
  return scalars[field.scalar ?? ScalarType.STRING] ?? { type: "string" }
}

const integer = (format: string) => ({ type: "integer", format })
const text = (format: string) => ({ type: "string", format })

/** As proto3 writes them in JSON: what has 64 bits is a text there. */
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

/** Those that JSON does not write field by field. */
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

/** What the address of a call may say: every field, dotted where it lies deeper; no messages. */
export function parametersOf(
  schemas: Schemas,
  message: DescMessage,
  without: readonly string[],
): readonly Json[] {
  const taken = new Set(without)
  const walk = (within: DescMessage, prefix: string, above: readonly DescMessage[]): Json[] =>
    within.fields.flatMap((field) => {
      if (taken.has(`${prefix}${field.name}`) || field.fieldKind === "map") return []
      const { message: inside } = field
      if (!inside || wellKnown[inside.typeName]?.type === "string") {
        const required = prefix === "" && rulesOf(field).required ? { required: true } : {}
        const name = `${spelled(prefix)}${field.jsonName}`
        return [{ name, ...required, ...inQuery(schemas, field) }]
      }
      // What repeats or holds itself has no place in an address.
      if (field.fieldKind === "list" || above.includes(inside)) return []
      return walk(inside, `${prefix}${field.name}.`, [...above, inside])
    })
  return walk(message, "", [message])
}

/** Where a body writes the name of an enum's value, the interface has its number here. */
const inQuery = (schemas: Schemas, field: DescField) => ({
  in: "query",
  ...(field.enum && { description: namesIn(field.enum) }),
  schema: {
    ...fieldSchema(field, (each) => numbersOf(each) ?? schemas.typeOf(each)),
    ...countLimit(field),
  },
})

const numbersOf = (field: DescField): Json | undefined =>
  field.enum && { type: "integer", enum: field.enum.values.map(({ number }) => number) }

const namesIn = ({ values }: DescEnum): string =>
  values.map(({ number, name }) => `${number}: ${name}`).join(", ")

const spelled = (prefix: string) =>
  prefix.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
