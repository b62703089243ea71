import type { ReactNode } from "react"

type CheckProps = {
  readonly label: string
  readonly hint?: ReactNode
  readonly checked: boolean
  readonly disabled?: boolean
  readonly onChange: (checked: boolean) => void
}

/** One thing that is so or not, with a line that helps to decide. */
export function Check({ label, hint, checked, disabled, onChange }: CheckProps) {
  return (
    <label className="check">
      <input
        type="checkbox"
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.target.checked)}
      />
      <span className="check-label">{label}</span>
      {hint && <span className="check-hint">{hint}</span>}
    </label>
  )
}

type ChecksProps<Value extends string> = {
  readonly legend: string
  readonly options: readonly {
    readonly value: Value
    readonly label: string
    readonly hint?: string
  }[]
  readonly values: readonly Value[]
  readonly onChange: (values: readonly Value[]) => void
}

/** Any of a few; the answer keeps the order in which they are offered. */
export function Checks<Value extends string>(props: ChecksProps<Value>) {
  const { legend, options, values, onChange } = props
  const turn = (turned: Value, on: boolean) =>
    onChange(
      options
        .map(({ value }) => value)
        .filter((value) => (value === turned ? on : values.includes(value))),
    )
  return (
    <fieldset className="checks">
      <legend className="field-label choice-legend">{legend}</legend>
      {options.map(({ value, label, hint }) => (
        <Check
          key={value}
          label={label}
          hint={hint}
          checked={values.includes(value)}
          onChange={(on) => turn(value, on)}
        />
      ))}
    </fieldset>
  )
}
