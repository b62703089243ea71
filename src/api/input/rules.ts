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

/** The rules for the values of a request field. */
export function rulesOf(field: DescField): Rules {
  if (!hasOption(field, rules)) return noRules
  const cached = rulesCache.get(field)
  if (cached) return cached
  const parsed = getOption(field, rules)
  rulesCache.set(field, parsed)
  return parsed
}

const noRules = create(RulesSchema)

/** Cached because reading an option decodes it each time. */
const rulesCache = new WeakMap<DescField, Rules>()

/** The rule of a oneof: whether one of its fields must be set. */
export const choiceOf = (group: DescOneof): Rules => getOption(group, choice)

type Violation = { readonly id: string; readonly path: string; readonly reason: string }
type Check = (message: object) => Violation | undefined

const checks = new WeakMap<DescMessage, Check>()

/**
 * Rejects a request that breaks a rule of its fields, at any depth. Rules with their own error are
 * checked by the operation, which throws that error.
 */
export function checkRules(schema: DescMessage, message: object): void {
  const violation = checkOf(schema)(message)
  if (violation) throw fieldError(violation.id, violation.path, violation.reason)
}

function checkOf(schema: DescMessage): Check {
  const cached = checks.get(schema)
  if (cached) return cached
  let parts: readonly Check[] = []
  const search: Check = (message) => findFirst(parts, (part) => part(message))
  // Stored before it is filled because messages can be recursive.
  checks.set(schema, search)
  const reached = schema.fields.filter((field) => hasRule(field) || hasRules(field.message))
  parts = reached.flatMap((field) => [ownChecks(schema, field), innerChecks(field)].flat())
  return search
}

const hasRule = (field: DescField): boolean => {
  const { error, required, requiredWithoutMask, maxLength, pattern, ...range } = rulesOf(field)
  const isBound = range.minimum !== undefined || range.maximum !== undefined
  return error === "" && (required || requiredWithoutMask || maxLength > 0 || !!pattern || isBound)
}

/** Whether a message has a field, at any depth, with a rule that is checked here. */
function hasRules(
  schema: DescMessage | undefined,
  ancestors: readonly DescMessage[] = [],
): boolean {
  if (!schema || ancestors.includes(schema)) return false
  const nested = [...ancestors, schema]
  return schema.fields.some((field) => hasRule(field) || hasRules(field.message, nested))
}

function ownChecks(schema: DescMessage, field: DescField): Check[] {
  if (!hasRule(field)) return []
  const get = getterOf(field)
  const mask = schema.fields.find(({ name }) => name === maskField)
  const isMasked = mask ? getterOf(mask) : () => undefined
  const rule = rulesOf(field)
  const { required, requiredWithoutMask } = rule
  const regex = rule.pattern ? new RegExp(rule.pattern, "u") : undefined
  return [
    (message) => {
      const value = get(message)
      if (!isEmpty(field, value))
        return findFirst(valuesIn(field, value), (each) =>
          violationOf(field, { rule, form: regex }, each),
        )
      const isMissing = required || (requiredWithoutMask && isMasked(message) === undefined)
      // Only one field of a oneof is set, and the rule of the oneof decides whether one must be.
      return isMissing && !field.oneof ? missingField(field.name) : undefined
    },
  ]
}

function innerChecks(field: DescField): Check[] {
  if (!hasRules(field.message) || !field.message) return []
  const nested = checkOf(field.message)
  const get = getterOf(field)
  return [
    (message) => {
      const violation = findFirst(messagesIn(field, get(message)), nested)
      return violation && { ...violation, path: `${field.name}.${violation.path}` }
    },
  ]
}

/** Whether proto3 can't distinguish the value from an omitted field. */
const isEmpty = (field: DescField, value: unknown): boolean =>
  value === undefined ||
  value === "" ||
  value === 0 ||
  value === 0n ||
  value === false ||
  valuesIn(field, value).length === 0

/** The elements of a list, the values of a map, or the single value. */
function valuesIn({ fieldKind }: DescField, value: unknown): readonly unknown[] {
  if (fieldKind === "map") return Object.values(value ?? {})
  return Array.isArray(value) ? value : [value]
}

const messagesIn = (field: DescField, value: unknown): readonly object[] =>
  valuesIn(field, value).flatMap((each) =>
    typeof each === "object" && each !== null ? [each] : [],
  )

function findFirst<T, F>(items: readonly T[], check: (item: T) => F | undefined): F | undefined {
  for (const item of items) {
    const violation = check(item)
    if (violation) return violation
  }
  return undefined
}

type ValueRules = { readonly rule: Rules; readonly form: RegExp | undefined }

function violationOf(
  { name }: DescField,
  { rule, form: regex }: ValueRules,
  value: unknown,
): Violation | undefined {
  const { maxLength, minimum = -Infinity, maximum = Infinity } = rule
  if (typeof value === "string") {
    if (maxLength > 0 && value.length > maxLength)
      return invalidField(name, `must be at most ${maxLength} characters`)
    return regex && !regex.test(value)
      ? invalidField(name, `must match ${rule.pattern}`)
      : undefined
  }
  if (typeof value !== "number" && typeof value !== "bigint") return undefined
  if (value < minimum) return invalidField(name, `must be at least ${minimum}`)
  return value > maximum ? invalidField(name, `must be at most ${maximum}`) : undefined
}

const missingField = (path: string): Violation => ({
  id: "request.field_missing",
  path,
  reason: "is required",
})

const invalidField = (path: string, failureReason: string): Violation => ({
  id: "request.field_invalid",
  path,
  reason: failureReason,
})
