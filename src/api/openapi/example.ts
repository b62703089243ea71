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

/** The maximum number of optional fields in an example request. */
const optionalMax = 3

/** The maximum nesting depth of messages in an example. */
const exampleDepthMax = 4

/** An example request with the required fields and a few optional ones. */
export const requestExample = (
  request: DescMessage,
  omittedFields: readonly string[] = [],
): JsonObject => messageExample(request, { isRequest: true, depth: 0, omittedFields })

/** An example response with a value in every field. */
export const answerExample = (answer: DescMessage): JsonObject =>
  messageExample(answer, { isRequest: false, depth: 0, omittedFields: [] })

/** An example value of one field for a path or URL parameter. */
export const valueExample = (field: DescField): JsonValue =>
  singleValue(field, { isRequest: true, depth: exampleDepthMax, omittedFields: [] })

type ExampleOptions = {
  readonly isRequest: boolean
  readonly depth: number
  /** Fields to omit. */
  readonly omittedFields: readonly string[]
}

function messageExample(message: DescMessage, options: ExampleOptions): JsonObject {
  const fields = message.fields.filter(
    (field) => !field.deprecated && !options.omittedFields.includes(field.name),
  )
  const chosen = options.isRequest ? exampleFields(fields, options) : fields.filter(isFirstOfGroup)
  const inside = { ...options, depth: options.depth + 1, without: [] }
  const entries = chosen.flatMap((field): [string, JsonValue][] => {
    const isDeep = field.message !== undefined && !wellKnown.has(field.message.typeName)
    if (isDeep && options.depth >= exampleDepthMax && !isRequiredField(field)) return []
    return [[field.jsonName, fieldValue(field, inside)]]
  })
  return Object.fromEntries(entries)
}

const isRequiredField = (field: DescField): boolean => {
  const { required, requiredWithoutMask } = rulesOf(field)
  return (required || requiredWithoutMask) && !field.oneof
}

const isFirstOfGroup = (field: DescField): boolean => !field.oneof || firstOf(field.oneof) === field

const firstOf = ({ fields }: DescOneof): DescField | undefined =>
  fields.find(({ deprecated }) => !deprecated)

/** The required fields, and the first of the other fields that are meaningful without context. */
function exampleFields(
  fields: readonly DescField[],
  { depth }: ExampleOptions,
): readonly DescField[] {
  const isChosen = ({ oneof }: DescField) => {
    const choice = oneof && choiceOf(oneof)
    return choice?.required || choice?.requiredWithoutMask
  }
  const needed = fields.filter(
    (field) => isRequiredField(field) || (isChosen(field) && isFirstOfGroup(field)),
  )
  const isPlain = (field: DescField) =>
    !field.oneof && !specialFields.has(field.name) && !needed.includes(field) && isPlainField(field)
  const more = fields.filter(isPlain).slice(0, optionalMax)
  const chosen = fields.filter((field) => needed.includes(field) || more.includes(field))
  // A nested message should not be empty.
  return chosen.length === 0 && depth > 0 ? fields.slice(0, 1) : chosen
}

/** Fields for special cases, which examples omit. */
const specialFields = new Set(["update_mask", "expected_version", "confirmed_credentials"])

/** Pagination messages. */
const paginationMessages = new Set(["ListQuery", "PaginationRequest"])

const isPlainField = ({ message, scalar, fieldKind }: DescField): boolean =>
  fieldKind !== "map" &&
  scalar !== ScalarType.BYTES &&
  (message === undefined || paginationMessages.has(message.name))

function fieldValue(field: DescField, options: ExampleOptions): JsonValue {
  if (field.fieldKind === "map") return { [mapKey(field)]: singleValue(field, options) }
  const value = singleValue(field, options)
  return field.fieldKind === "list" ? [value] : value
}

const mapKey = ({ mapKey }: DescField & { readonly fieldKind: "map" }): string =>
  mapKey === ScalarType.STRING ? "key" : "1"

function singleValue(field: DescField, options: ExampleOptions): JsonValue {
  const { message, scalar } = field
  if (message) return stringMessageValue(field, message) ?? messageExample(message, options)
  if (field.enum) return enumValueName(field, field.enum)
  return scalar === ScalarType.STRING ? textOf(field) : (scalars[scalar ?? 0]?.(field) ?? 0)
}

/** A message that is a string in JSON. */
const stringMessageValue = (
  { name }: DescField,
  { typeName }: DescMessage,
): JsonValue | undefined =>
  typeName === "google.protobuf.Duration" && name.endsWith("timeout")
    ? "10s"
    : wellKnown.get(typeName)

/** The name of the first enum value that is not "unspecified". */
function enumValueName(field: DescField, { values }: DescEnum): string {
  const isMeant = ({ name, number }: DescEnumValue) =>
    number > 0 || (!rulesOf(field).required && !/_(UNSPECIFIED|NONE)$/.test(name))
  return (values.find(isMeant) ?? values[0])?.name ?? ""
}

/** A text that is valid for the field: by its rule, otherwise by its name. */
function textOf(field: DescField): string {
  const { pattern } = rulesOf(field)
  const known = namedValues.find(([name]) => name.test(`${field.parent.name}.${field.name}`))?.[1]
  if (known !== undefined && (!pattern || new RegExp(pattern, "u").test(known))) return known
  return pattern.includes("#") ? "#5469d4" : pattern ? "en" : "text"
}

const exampleNumber = (field: DescField): number =>
  exampleNumbers[field.name] ?? Math.max(rulesOf(field).minimum ?? 1, 1)

/** Numbers for fields where 1 would be unrealistic. */
const exampleNumbers: Readonly<Record<string, number>> = { length: 12, limit: 20, max_age_days: 90 }

const scalars: Readonly<Record<number, (field: DescField) => JsonValue>> = {
  [ScalarType.BOOL]: () => true,
  [ScalarType.BYTES]: () => "bGF0Y2hrZXk=",
  [ScalarType.DOUBLE]: () => 1,
  [ScalarType.FLOAT]: () => 1,
  [ScalarType.INT32]: exampleNumber,
  [ScalarType.UINT32]: exampleNumber,
  [ScalarType.SINT32]: exampleNumber,
  [ScalarType.FIXED32]: exampleNumber,
  [ScalarType.INT64]: ({ name }) => (name === "offset" ? "0" : "42"),
  [ScalarType.UINT64]: ({ name }) => (name === "offset" ? "0" : "42"),
}

/** The JSON form of well-known types. */
const wellKnown = new Map<string, JsonValue>([
  ["google.protobuf.Timestamp", "2030-01-01T00:00:00Z"],
  ["google.protobuf.Duration", "3600s"],
  ["google.protobuf.FieldMask", "name"],
  ["google.protobuf.Struct", { key: "value" }],
  ["google.protobuf.Value", "value"],
  ["google.protobuf.Empty", {}],
  ["google.protobuf.Any", { "@type": "type.googleapis.com/google.protobuf.Empty", value: {} }],
])
