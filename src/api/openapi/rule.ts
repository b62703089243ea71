import {
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescOneof,
  ScalarType,
} from "@bufbuild/protobuf"
import { choiceOf, rulesOf } from "../input/rules.ts"

type Json = Readonly<Record<string, unknown>>

/** The schema of one value of a field, with what the rules of the field say of it. */
export function ruled(field: DescField, schema: Json): Json {
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
  // A number of 64 bits is a text in JSON, which has no range.
  return schema.type === "integer" || schema.type === "number"
    ? {
        ...schema,
        ...(minimum !== undefined && { minimum }),
        ...(maximum !== undefined && { maximum }),
      }
    : schema
}

/** The values of an enum that mean something. */
const namesOf = ({ values }: DescEnum): readonly string[] =>
  values.flatMap(({ name, number }) => (number === 0 ? [] : [name]))

/** How few elements a list may have. */
export const fewest = (field: DescField): Json => (rulesOf(field).required ? { minItems: 1 } : {})

/**
 * Which properties a message must have. What it must have only without a mask, and of which groups
 * one, is said in words: of `anyOf` and `oneOf` with nothing but `required` some generators make
 * types without properties. What the path of a request holds isn't needed in its body.
 */
export function demandsOf(message: DescMessage, inPath: readonly string[]): Json {
  const own = message.fields.filter(({ name }) => !inPath.includes(name))
  const groups = message.oneofs.filter((group) => choiceOf(group).required)
  const alone = groups.flatMap(({ fields }) => (fields.length === 1 ? fields : []))
  const required = [...own.filter((field) => rulesOf(field).required), ...alone]
  const sentences = [
    ...groups.filter(({ fields }) => fields.length > 1).map((group) => `Has ${oneOf(group)}.`),
    ...unmaskedIn(message),
  ]
  return {
    ...(required.length > 0 && { required: required.map(({ jsonName }) => jsonName) }),
    ...(sentences.length > 0 && { description: sentences.join(" ") }),
  }
}

/** What an update must have where its mask does not say what it changes. */
function unmaskedIn(message: DescMessage): readonly string[] {
  const fields = message.fields.filter((field) => rulesOf(field).requiredWithoutMask)
  const groups = message.oneofs.filter((group) => choiceOf(group).requiredWithoutMask)
  const needed = [...fields.map(({ jsonName }) => jsonName), ...groups.map(oneOf)]
  return needed.length > 0 ? [`Without updateMask, these are required: ${needed.join(", ")}.`] : []
}

const oneOf = ({ fields }: DescOneof): string =>
  `exactly one of ${fields.map(({ jsonName }) => jsonName).join(", ")}`
