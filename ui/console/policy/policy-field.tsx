import { Check } from "../../kit/check.tsx"
import { Field as KitField, TextField } from "../../kit/field.tsx"
import { SelectField } from "../../kit/select.tsx"
import { useText } from "../shell/text.ts"
import type { Field } from "./policy.ts"

type FieldProps = {
  readonly field: Field
  readonly value: string | boolean
  readonly error: string | undefined
  readonly onChange: (value: string | boolean) => void
}

/** The control for one field of a policy. */
export function PolicyField({ field, value, error, onChange }: FieldProps) {
  const { t } = useText()
  const text = { label: t(field.label), ...(field.hint && { hint: t(field.hint) }) }
  switch (field.kind) {
    case "check":
      return <Check {...text} checked={value === true} {...{ onChange }} />
    case "choice": {
      const options = field.options.map((option) => ({ ...option, label: t(option.label) }))
      return <SelectField {...text} {...{ options, onChange }} value={String(value)} />
    }
    case "color":
      return (
        <ColorField {...text} delivered={field.delivered} value={String(value)} {...{ onChange }} />
      )
    case "count":
      return (
        <TextField
          {...text}
          name={field.name}
          error={error}
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

type ColorProps = {
  readonly label: string
  readonly delivered: string
  readonly value: string
  readonly onChange: (value: string) => void
}

/** A colour to type or to pick; empty leaves pages the one that they have by themselves. */
function ColorField({ label, delivered, value, onChange }: ColorProps) {
  const { t } = useText()
  const isColour = /^#[0-9a-f]{6}$/i.test(value)
  return (
    <KitField
      label={label}
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
