import { Field } from "../../kit/index.ts"
import { t } from "../shell/index.ts"
import { type Amount, units } from "./duration.ts"

type DurationFieldProps = {
  readonly label: string
  readonly hint?: string
  /** What holds where the field stays empty; without it, something must be said. */
  readonly fallback?: string
  readonly name?: string
  readonly error?: string | undefined
  readonly value: Amount
  readonly onChange: (value: Amount) => void
}

/** A time as a number and its unit. */
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
