import {
  type DescEnum,
  type DescEnumValue,
  type DescField,
  type DescMessage,
  type DescOneof,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from "@bufbuild/protobuf"
import { choiceOf, rulesOf } from "../input/rules.ts"
import { namedValues } from "./named-values.ts"

/** Fields that an example of a request has at most beside those that it must have. */
const optionalMax = 3

/** How deep messages lie in each other in an example. */
const depthMax = 4

/** A request with what it must have, and a little more. */
export const requestExample = (request: DescMessage, without: readonly string[] = []): JsonObject =>
  messageExample(request, { isRequest: true, depth: 0, without })

/** An answer with a value in every field. */
export const answerExample = (answer: DescMessage): JsonObject =>
  messageExample(answer, { isRequest: false, depth: 0, without: [] })

/** The value of one field, as it stands in a path or in an address. */
export const valueExample = (field: DescField): JsonValue =>
  single(field, { isRequest: true, depth: depthMax, without: [] })

type Manner = {
  readonly isRequest: boolean
  readonly depth: number
  /** Fields that are left out. */
  readonly without: readonly string[]
}

function messageExample(message: DescMessage, manner: Manner): JsonObject {
  const fields = message.fields.filter(
    (field) => !field.deprecated && !manner.without.includes(field.name),
  )
  const shown = manner.isRequest ? requested(fields, manner) : fields.filter(isFirstOfGroup)
  const inside = { ...manner, depth: manner.depth + 1, without: [] }
  const entries = shown.flatMap((field): [string, JsonValue][] => {
    const isDeep = field.message !== undefined && !wellKnown.has(field.message.typeName)
    if (isDeep && manner.depth >= depthMax && !isNeeded(field)) return []
    return [[field.jsonName, fieldValue(field, inside)]]
  })
  return Object.fromEntries(entries)
}

const isNeeded = (field: DescField): boolean => {
  const { required, requiredWithoutMask } = rulesOf(field)
  return (required || requiredWithoutMask) && !field.oneof
}

const isFirstOfGroup = (field: DescField): boolean => !field.oneof || firstOf(field.oneof) === field

const firstOf = ({ fields }: DescOneof): DescField | undefined =>
  fields.find(({ deprecated }) => !deprecated)

/** What must be there, and the first of the rest that say something by themselves. */
function requested(fields: readonly DescField[], { depth }: Manner): readonly DescField[] {
  const isChosen = ({ oneof }: DescField) => {
    const choice = oneof && choiceOf(oneof)
    return choice?.required || choice?.requiredWithoutMask
  }
  const needed = fields.filter(
    (field) => isNeeded(field) || (isChosen(field) && isFirstOfGroup(field)),
  )
  const isPlain = (field: DescField) =>
    !field.oneof && !internal.has(field.name) && !needed.includes(field) && isShort(field)
  const more = fields.filter(isPlain).slice(0, optionalMax)
  const shown = fields.filter((field) => needed.includes(field) || more.includes(field))
  // What lies in a request says something.
  return shown.length === 0 && depth > 0 ? fields.slice(0, 1) : shown
}

/** Fields for special cases, which an example leaves out. */
const internal = new Set(["update_mask", "expected_version", "confirmed_credentials"])

/** Messages that say which part of a list is answered. */
const pages = new Set(["ListQuery", "PaginationRequest"])

const isShort = ({ message, scalar, fieldKind }: DescField): boolean =>
  fieldKind !== "map" &&
  scalar !== ScalarType.BYTES &&
  (message === undefined || pages.has(message.name))

function fieldValue(field: DescField, manner: Manner): JsonValue {
  if (field.fieldKind === "map") return { [mapKey(field)]: single(field, manner) }
  const value = single(field, manner)
  return field.fieldKind === "list" ? [value] : value
}

const mapKey = ({ mapKey }: DescField & { readonly fieldKind: "map" }): string =>
  mapKey === ScalarType.STRING ? "key" : "1"

function single(field: DescField, manner: Manner): JsonValue {
  const { message, scalar } = field
  if (message) return plainOf(field, message) ?? messageExample(message, manner)
  if (field.enum) return nameIn(field, field.enum)
  return scalar === ScalarType.STRING ? textOf(field) : (scalars[scalar ?? 0]?.(field) ?? 0)
}

/** A message that is a text in JSON. */
const plainOf = ({ name }: DescField, { typeName }: DescMessage): JsonValue | undefined =>
  typeName === "google.protobuf.Duration" && name.endsWith("timeout")
    ? "10s"
    : wellKnown.get(typeName)

/** The first value that says something. */
function nameIn(field: DescField, { values }: DescEnum): string {
  const isMeant = ({ name, number }: DescEnumValue) =>
    number > 0 || (!rulesOf(field).required && !/_(UNSPECIFIED|NONE)$/.test(name))
  return (values.find(isMeant) ?? values[0])?.name ?? ""
}

/** A text that the field would take: by its own rule, else by its name. */
function textOf(field: DescField): string {
  const { pattern } = rulesOf(field)
  const known = namedValues.find(([name]) => name.test(`${field.parent.name}.${field.name}`))?.[1]
  if (known !== undefined && (!pattern || new RegExp(pattern, "u").test(known))) return known
  return pattern.includes("#") ? "#5469d4" : pattern ? "en" : "text"
}

const whole = (field: DescField): number =>
  counts[field.name] ?? Math.max(rulesOf(field).minimum ?? 1, 1)

/** Numbers for which 1 is too few. */
const counts: Readonly<Record<string, number>> = { length: 12, limit: 20, max_age_days: 90 }

const scalars: Readonly<Record<number, (field: DescField) => JsonValue>> = {
  [ScalarType.BOOL]: () => true,
  [ScalarType.BYTES]: () => "bGF0Y2hrZXk=",
  [ScalarType.DOUBLE]: () => 1,
  [ScalarType.FLOAT]: () => 1,
  [ScalarType.INT32]: whole,
  [ScalarType.UINT32]: whole,
  [ScalarType.SINT32]: whole,
  [ScalarType.FIXED32]: whole,
  [ScalarType.INT64]: ({ name }) => (name === "offset" ? "0" : "42"),
  [ScalarType.UINT64]: ({ name }) => (name === "offset" ? "0" : "42"),
}

/** As JSON writes the types that it doesn't write field by field. */
const wellKnown = new Map<string, JsonValue>([
  ["google.protobuf.Timestamp", "2030-01-01T00:00:00Z"],
  ["google.protobuf.Duration", "3600s"],
  ["google.protobuf.FieldMask", "name"],
  ["google.protobuf.Struct", { key: "value" }],
  ["google.protobuf.Value", "value"],
  ["google.protobuf.Empty", {}],
  ["google.protobuf.Any", { "@type": "type.googleapis.com/google.protobuf.Empty", value: {} }],
])
