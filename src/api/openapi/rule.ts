import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescOneof,
  ScalarType,
} from "@bufbuild/protobuf"
import { choiceOf, rulesOf } from "../input/rules.ts"

type Json = Readonly<Record<string, unknown>>

/** The schema of one value of a field, with the constraints of the field's rules. */
export function withRules(field: DescField, schema: Json): Json {
  const { required, maxLength, pattern, minimum, maximum } = rulesOf(field)
  if (field.enum) return required ? { ...schema, enum: namesOf(field.enum) } : schema
  if (field.scalar === ScalarType.BOOL) return required ? { ...schema, enum: [true] } : schema
  const isOne = field.fieldKind !== "list"
  if (field.scalar === ScalarType.STRING) {
    return {
      ...schema,
      ...(required && isOne && { minLength: 1 }),
      ...(maxLength > 0 && { maxLength }),
      ...(pattern && { pattern }),
    }
  }
  // A 64-bit number is a string in JSON and has no range.
  return schema.type === "integer" || schema.type === "number"
    ? {
        ...schema,
        ...(minimum !== undefined && { minimum }),
        ...(maximum !== undefined && { maximum }),
      }
    : schema
}

/** The names of the enum values except "unspecified". */
const namesOf = ({ values }: DescEnum): readonly string[] =>
  values.flatMap(({ name, number }) => (number === 0 ? [] : [name]))

/** The minimum number of elements of a list. */
export const minItemsOf = (field: DescField): Json =>
  rulesOf(field).required ? { minItems: 1 } : {}

/**
 * The required properties of a message. Properties that are required only without a mask, and
 * groups of which one is required, are described in text, because some generators create types
 * without properties from `anyOf` or `oneOf` that contain only `required`. Fields in the path are
 * not required in the body.
 */
export function requirementsOf(message: DescMessage, inPath: readonly string[]): Json {
  const own = message.fields.filter(({ name }) => !inPath.includes(name))
  const groups = message.oneofs.filter((group) => choiceOf(group).required)
  const alone = groups.flatMap(({ fields }) => (fields.length === 1 ? fields : []))
  const required = [...own.filter((field) => rulesOf(field).required), ...alone]
  const sentences = [
    ...groups
      .filter(({ fields }) => fields.length > 1)
      .map((group) => `Requires ${formatOneOf(group)}.`),
    ...requiredWithoutMaskIn(message),
  ]
  return {
    ...(required.length > 0 && { required: required.map(({ jsonName }) => jsonName) }),
    ...(sentences.length > 0 && { description: sentences.join(" ") }),
  }
}

/** The fields that an update without a mask must have. */
function requiredWithoutMaskIn(message: DescMessage): readonly string[] {
  const fields = message.fields.filter((field) => rulesOf(field).requiredWithoutMask)
  const groups = message.oneofs.filter((group) => choiceOf(group).requiredWithoutMask)
  const needed = [...fields.map(({ jsonName }) => jsonName), ...groups.map(formatOneOf)]
  return needed.length > 0 ? [`Without updateMask, these are required: ${needed.join(", ")}.`] : []
}

const formatOneOf = ({ fields }: DescOneof): string =>
  `exactly one of ${fields.map(({ jsonName }) => jsonName).join(", ")}`
