import { Check, Checks, Field as KitField, SelectField, TextField } from "../../kit/index.ts"
import { DurationField, toAmount } from "../form/index.ts"
import { t } from "../shell/index.ts"
import { asSelection } from "./field-values.ts"
import type { PolicyFieldSpec, PolicyValue } from "./policy.ts"

type PolicyFieldProps = {
  readonly field: PolicyFieldSpec
  readonly value: PolicyValue
  readonly error: string | undefined
  readonly onChange: (value: PolicyValue) => void
}

/** The control for one field of a policy. */
export function PolicyField({ field, value, error, onChange }: PolicyFieldProps) {
  const { name } = field
  const text = { name, error, label: t(field.label), ...(field.hint && { hint: t(field.hint) }) }
  switch (field.kind) {
    case "check":
      return <Check {...text} checked={value === true} onChange={onChange} />
    case "choice": {
      const options = field.options.map((option) => ({ ...option, label: t(option.label) }))
      return <SelectField {...text} options={options} onChange={onChange} value={String(value)} />
    }
    case "several": {
      const options = field.options.map((option) => ({ ...option, label: t(option.label) }))
      const values = asSelection(value)
      return (
        <Checks
          {...text}
          options={options}
          values={values}
          onChange={onChange}
          legend={text.label}
        />
      )
    }
    case "duration":
      return <DurationField {...text} value={toAmount(value)} onChange={onChange} />
    case "color":
      return (
        <ColorField
          {...text}
          defaultColor={field.delivered}
          value={String(value)}
          onChange={onChange}
        />
      )
    case "text":
      return (
        <TextField
          {...text}
          type={field.type}
          maxLength={2048}
          placeholder={field.type === "url" ? "https://" : undefined}
          value={String(value)}
          onChange={(event) => onChange(event.target.value)}
        />
      )
    case "count":
      return (
        <TextField
          {...text}
          type="number"
          inputMode="numeric"
          min={field.min}
          max={field.max}
          step={1}
          required
          value={String(value)}
          onChange={(event) => onChange(event.target.value)}
        />
      )
  }
}

type ColorFieldProps = {
  readonly name: string
  readonly label: string
  readonly error: string | undefined
  readonly defaultColor: string
  readonly value: string
  readonly onChange: (value: string) => void
}

/** A color to type or pick; empty means the default color. */
function ColorField({
  name,
  label,
  error,
  defaultColor: delivered,
  value,
  onChange,
}: ColorFieldProps) {
  const isColour = /^#[0-9a-f]{6}$/i.test(value)
  return (
    <KitField
      label={label}
      error={error}
      control={(wiring) => (
        <>
          <input
            className="color"
            type="color"
            aria-label={t("policy.branding.pick", { name: label })}
            value={isColour ? value.toLowerCase() : delivered}
            onChange={(event) => onChange(event.target.value)}
          />
          <input
            className="input"
            name={name}
            pattern="#[0-9A-Fa-f]{6}"
            title={t("policy.branding.format")}
            maxLength={7}
            autoComplete="off"
            spellCheck={false}
            placeholder={t("policy.branding.unsaid")}
            value={value}
            onChange={(event) => onChange(event.target.value.trim())}
            {...wiring}
          />
        </>
      )}
    />
  )
}
