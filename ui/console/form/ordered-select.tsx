import { Button, SelectField } from "../../kit/index.ts"
import { t } from "../shell/index.ts"

type Option = { readonly value: string; readonly label: string }

type OrderedSelectProps = {
  readonly label: string
  readonly hint?: string
  /** All options; selected values that no longer exist are shown as is. */
  readonly options: readonly Option[]
  readonly values: readonly string[]
  readonly onChange: (values: readonly string[]) => void
}

/** Formats selected values with the labels of the options. */
export const formatOptions = (options: readonly Option[]) => (chosen: unknown) =>
  (Array.isArray(chosen) ? chosen : [chosen])
    .map((value) => options.find((option) => option.value === value)?.label ?? String(value))
    .join("\n")

/** Selects several values in order of priority. */
export function OrderedSelect({ label, hint, options, values, onChange }: OrderedSelectProps) {
  const nameOf = (value: string) => options.find((one) => one.value === value)?.label ?? value
  const left = options.filter(({ value }) => !values.includes(value))
  const lift = (at: number) => {
    const [before = "", lifted = ""] = values.slice(at - 1, at + 1)
    onChange([...values.slice(0, at - 1), lifted, before, ...values.slice(at + 1)])
  }
  return (
    <fieldset className="stack-tight ordered">
      <legend className="field-label">{label}</legend>
      <ol>
        {values.map((value, at) => (
          <li key={value}>
            <bdi className="clip">{nameOf(value)}</bdi>
            <Button
              small
              kind="plain"
              aria-disabled={at === 0}
              aria-label={`${t("ordered.earlier")}: ${nameOf(value)}`}
              onClick={() => at > 0 && lift(at)}
            >
              ↑
            </Button>
            <Button
              small
              kind="plain"
              aria-label={`${t("action.remove")}: ${nameOf(value)}`}
              onClick={() => onChange(values.filter((one) => one !== value))}
            >
              {t("action.remove")}
            </Button>
          </li>
        ))}
      </ol>
      {left.length > 0 && (
        <SelectField
          label={t("ordered.add")}
          {...(hint && { hint })}
          options={[{ value: "", label: t("ordered.choose") }, ...left]}
          value=""
          onChange={(value) => value && onChange([...values, value])}
        />
      )}
    </fieldset>
  )
}
