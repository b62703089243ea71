import {
  create,
  type DescField,
  type DescMessage,
  type DescOneof,
  getOption,
  hasOption,
} from "@bufbuild/protobuf"
import { choice, type Rules, RulesSchema, rules } from "../../gen/core/options_pb.ts"
import { fieldError } from "../../kernel/fault.ts"
import { maskField } from "../edit/mask.ts"
import { getterOf } from "./field.ts"

/** What a field of a request must hold. */
export function rulesOf(field: DescField): Rules {
  if (!hasOption(field, rules)) return none
  const known = read.get(field)
  if (known) return known
  const made = getOption(field, rules)
  read.set(field, made)
  return made
}

const none = create(RulesSchema)

/** To read an option decodes it anew. */
const read = new WeakMap<DescField, Rules>()

/** Whether one of the fields of a group must be set. */
export const choiceOf = (group: DescOneof): Rules => getOption(group, choice)

type Misfit = { readonly id: string; readonly path: string; readonly why: string }
type Search = (message: object) => Misfit | undefined

const searches = new WeakMap<DescMessage, Search>()

/**
 * Refuses a request that breaks a rule of its fields, at any depth. Rules that name an error are
 * left to the operation, which refuses with that error.
 */
export function checkRules(schema: DescMessage, message: object): void {
  const found = searchOf(schema)(message)
  if (found) throw fieldError(found.id, found.path, found.why)
}

function searchOf(schema: DescMessage): Search {
  const known = searches.get(schema)
  if (known) return known
  let parts: readonly Search[] = []
  const search: Search = (message) => first(parts, (part) => part(message))
  // Known before its parts are made: messages may contain themselves.
  searches.set(schema, search)
  const reached = schema.fields.filter((field) => isRuled(field) || hasRules(field.message))
  parts = reached.flatMap((field) => [ownSearch(schema, field), innerSearch(field)].flat())
  return search
}

const isRuled = (field: DescField): boolean => {
  const { error, required, requiredWithoutMask, maxLength, pattern, ...range } = rulesOf(field)
  const isBound = range.minimum !== undefined || range.maximum !== undefined
  return error === "" && (required || requiredWithoutMask || maxLength > 0 || !!pattern || isBound)
}

/** Whether a message has a field, at any depth, with a rule that the operation leaves to others. */
function hasRules(schema: DescMessage | undefined, above: readonly DescMessage[] = []): boolean {
  if (!schema || above.includes(schema)) return false
  const inside = [...above, schema]
  return schema.fields.some((field) => isRuled(field) || hasRules(field.message, inside))
}

function ownSearch(schema: DescMessage, field: DescField): Search[] {
  if (!isRuled(field)) return []
  const get = getterOf(field)
  const mask = schema.fields.find(({ name }) => name === maskField)
  const isMasked = mask ? getterOf(mask) : () => undefined
  const rule = rulesOf(field)
  const { required, requiredWithoutMask } = rule
  const form = rule.pattern ? new RegExp(rule.pattern, "u") : undefined
  return [
    (message) => {
      const value = get(message)
      if (!isEmpty(field, value))
        return first(valuesIn(field, value), (each) => misfitOf(field, { rule, form }, each))
      const isMissing = required || (requiredWithoutMask && isMasked(message) === undefined)
      // Of the several fields of a group only one is set, and which one is the group's rule.
      return isMissing && !field.oneof ? missing(field.name) : undefined
    },
  ]
}

function innerSearch(field: DescField): Search[] {
  if (!hasRules(field.message) || !field.message) return []
  const inside = searchOf(field.message)
  const get = getterOf(field)
  return [
    (message) => {
      const found = first(messagesIn(field, get(message)), inside)
      return found && { ...found, path: `${field.name}.${found.path}` }
    },
  ]
}

/** What proto3 doesn't tell from a field that is left out. */
const isEmpty = (field: DescField, value: unknown): boolean =>
  value === undefined ||
  value === "" ||
  value === 0 ||
  value === 0n ||
  value === false ||
  valuesIn(field, value).length === 0

/** Each of a list and each value of a map; else the only one. */
function valuesIn({ fieldKind }: DescField, value: unknown): readonly unknown[] {
  if (fieldKind === "map") return Object.values(value ?? {})
  return Array.isArray(value) ? value : [value]
}

const messagesIn = (field: DescField, value: unknown): readonly object[] =>
  valuesIn(field, value).flatMap((each) =>
    typeof each === "object" && each !== null ? [each] : [],
  )

function first<T, F>(items: readonly T[], look: (item: T) => F | undefined): F | undefined {
  for (const item of items) {
    const found = look(item)
    if (found) return found
  }
  return undefined
}

type Bounds = { readonly rule: Rules; readonly form: RegExp | undefined }

function misfitOf({ name }: DescField, { rule, form }: Bounds, value: unknown): Misfit | undefined {
  const { maxLength, minimum = -Infinity, maximum = Infinity } = rule
  if (typeof value === "string") {
    if (maxLength > 0 && value.length > maxLength)
      return invalid(name, `must have at most ${maxLength} characters`)
    return form && !form.test(value) ? invalid(name, `must match ${rule.pattern}`) : undefined
  }
  if (typeof value !== "number" && typeof value !== "bigint") return undefined
  if (value < minimum) return invalid(name, `must be at least ${minimum}`)
  return value > maximum ? invalid(name, `must be at most ${maximum}`) : undefined
}

const missing = (path: string): Misfit => ({
  id: "request.field_missing",
  path,
  why: "is missing",
})

const invalid = (path: string, why: string): Misfit => ({ id: "request.field_invalid", path, why })
