import { Field } from "../../kit/index.ts"
import { t } from "../shell/index.ts"
import { type Amount, units } from "./duration.ts"

type DurationFieldProps = {
  readonly label: string
  readonly hint?: string
  /** The value that applies if the field is empty; without it the field is required. */
  readonly fallback?: string
  readonly name?: string
  readonly error?: string | undefined
  readonly value: Amount
  readonly onChange: (value: Amount) => void
}

/** A duration as a number and a unit. */
export function DurationField(props: DurationFieldProps) {
  const { label, hint, error, fallback, name, value, onChange } = props
  return (
    <Field
      label={label}
      hint={hint}
      error={error}
      control={(wiring) => (
        <span className="amount">
          <input
            className="input"
            name={name}
            type="number"
            min={0}
            max={100_000_000}
            step="any"
            inputMode="decimal"
            placeholder={fallback}
            required={fallback === undefined}
            value={value.count}
            onChange={(event) => onChange({ ...value, count: event.target.value })}
            {...wiring}
          />
          <select
            className="input"
            aria-label={`${label}: ${t("unit.unit")}`}
            value={value.unit}
            onChange={(event) => {
              const unit = units.find((each) => each === event.target.value)
              if (unit) onChange({ ...value, unit })
            }}
          >
            {units.map((unit) => (
              <option key={unit} value={unit}>
                {t(`unit.${unit}`)}
              </option>
            ))}
          </select>
        </span>
      )}
    />
  )
}
