import { isMessage } from "@bufbuild/protobuf"
import { DurationSchema } from "@bufbuild/protobuf/wkt"
import { amountIn, amountOf, durationOf, durationText } from "../form/index.ts"
import { t } from "../shell/index.ts"
import type { Field, Policy, PolicyFields, Value, Values } from "./policy.ts"

/** The values of a form for what the server says. */
export const valuesOf = ({ fields }: Pick<Policy, "fields">, policy: PolicyFields): Values =>
  Object.fromEntries(fields.map((field) => [field.name, formValueOf(field, policy[field.name])]))

/** What a form has for a value of a message. */
function formValueOf(field: Field, value: unknown): Value {
  if (field.kind === "check") return (value === true) !== isInverted(field)
  if (field.kind === "several") return Array.isArray(value) ? value.map(String) : []
  if (field.kind === "duration") {
    return amountOf(isMessage(value, DurationSchema) ? value : undefined)
  }
  return field.kind === "color" && value === field.unsaid ? "" : String(value)
}

/** The same values after the server has stored them: an hour, where 60 minutes were typed. */
export const storedValuesOf = (fields: readonly Field[], values: Values): Values =>
  Object.fromEntries(
    fields.map((field) => [field.name, formValueOf(field, requestValueOf(field, values))]),
  )

/** The value of a field in a request. */
export function requestValueOf(field: Field, values: Values): unknown {
  const { name, kind } = field
  const value = values[name]
  if (kind === "check") return (value === true) !== isInverted(field)
  if (kind === "count" || kind === "choice") return Number(value)
  if (kind === "several") return chosenIn(value).map(Number)
  return kind === "duration" ? durationOf(amountIn(value)) : value
}

const isInverted = (field: Field): boolean => field.kind === "check" && field.isInverted === true

/** A value of a form as policies have them. */
export function valueIn(value: unknown): Value {
  if (typeof value === "boolean") return value
  if (Array.isArray(value)) return value.map(String)
  return typeof value === "object" ? amountIn(value) : String(value ?? "")
}

/** What is chosen of several; none where a value is of another kind. */
export const chosenIn = (value: Value | undefined): readonly string[] =>
  typeof value === "object" && !("unit" in value) ? value : []

/** What a field says, in words. */
export function useWords(): (field: Field, values: Values) => string {
  return (field, values) => {
    const value = values[field.name]
    switch (field.kind) {
      case "check":
        return t(value === true ? "policy.yes" : "policy.no")
      case "color":
        return String(value) || t("policy.branding.unsaid")
      case "text":
        return String(value) || t(field.empty)
      case "choice":
      case "several": {
        const chosen = field.kind === "choice" ? [value] : chosenIn(value)
        const said = field.options.filter((option) => chosen.includes(option.value))
        return said.map((option) => t(option.label)).join(", ") || t("policy.none")
      }
      case "duration": {
        const { count, unit } = amountIn(value)
        const lasts = durationOf({ count, unit })
        if (field.zero && Number(count) === 0) return t(field.zero)
        return lasts ? durationText(lasts) : ""
      }
      case "count":
        return field.zero && value === "0" ? t(field.zero) : String(value)
    }
  }
}
