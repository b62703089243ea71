import { isMessage } from "@bufbuild/protobuf"
import { DurationSchema } from "@bufbuild/protobuf/wkt"
import { amountFromDuration, durationFromAmount, formatDuration, toAmount } from "../form/index.ts"
import { t } from "../shell/index.ts"
import type {
  PolicyDefinition,
  PolicyFieldSpec,
  PolicyFields,
  PolicyValue,
  PolicyValues,
} from "./policy.ts"

/** The form values of a policy message. */
export const toFormValues = (
  { fields }: Pick<PolicyDefinition, "fields">,
  policy: PolicyFields,
): PolicyValues =>
  Object.fromEntries(fields.map((field) => [field.name, toFormValue(field, policy[field.name])]))

/** The form value of a message value. */
function toFormValue(field: PolicyFieldSpec, value: unknown): PolicyValue {
  if (field.kind === "check") return (value === true) !== isInverted(field)
  if (field.kind === "several") return Array.isArray(value) ? value.map(String) : []
  if (field.kind === "duration") {
    return amountFromDuration(isMessage(value, DurationSchema) ? value : undefined)
  }
  return field.kind === "color" && value === field.unsaid ? "" : String(value)
}

/** Form values as the server returns them: one hour for 60 minutes. */
export const normalizeValues = (
  fields: readonly PolicyFieldSpec[],
  values: PolicyValues,
): PolicyValues =>
  Object.fromEntries(
    fields.map((field) => [field.name, toFormValue(field, toRequestValue(field, values))]),
  )

/** The value of a field in a request. */
export function toRequestValue(field: PolicyFieldSpec, values: PolicyValues): unknown {
  const { name, kind } = field
  const value = values[name]
  if (kind === "check") return (value === true) !== isInverted(field)
  if (kind === "count" || kind === "choice") return Number(value)
  if (kind === "several") return asSelection(value).map(Number)
  return kind === "duration" ? durationFromAmount(toAmount(value)) : value
}

const isInverted = (field: PolicyFieldSpec): boolean =>
  field.kind === "check" && field.isInverted === true

/** Any form value as a policy value. */
export function asValue(value: unknown): PolicyValue {
  if (typeof value === "boolean") return value
  if (Array.isArray(value)) return value.map(String)
  return typeof value === "object" ? toAmount(value) : String(value ?? "")
}

/** The selected values; empty if the value has another type. */
export const asSelection = (value: PolicyValue | undefined): readonly string[] =>
  typeof value === "object" && !("unit" in value) ? value : []

/** Formats the value of a field. */
export function useFormatField(): (field: PolicyFieldSpec, values: PolicyValues) => string {
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
        const chosen = field.kind === "choice" ? [value] : asSelection(value)
        const selectedOptions = field.options.filter((option) => chosen.includes(option.value))
        return selectedOptions.map((option) => t(option.label)).join(", ") || t("policy.none")
      }
      case "duration": {
        const { count, unit } = toAmount(value)
        const lasts = durationFromAmount({ count, unit })
        if (field.zero && Number(count) === 0) return t(field.zero)
        return lasts ? formatDuration(lasts) : ""
      }
      case "count":
        return field.zero && value === "0" ? t(field.zero) : String(value)
    }
  }
}
