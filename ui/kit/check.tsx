import { type ReactNode, useId } from "react"
import { toSentence } from "./sentence.ts"

type CheckProps = {
  readonly label: string
  readonly hint?: ReactNode
  /** The name by which a form finds the control to show an error. */
  readonly name?: string | undefined
  readonly error?: string | undefined
  readonly checked: boolean
  readonly disabled?: boolean
  readonly onChange: (checked: boolean) => void
}

/** A checkbox with a hint. */
export function Check({ label, hint, name, error, checked, disabled, onChange }: CheckProps) {
  const id = useId()
  return (
    <label className="check">
      <input
        type="checkbox"
        name={name}
        checked={checked}
        disabled={disabled}
        onChange={(event) => onChange(event.target.checked)}
        {...(error && { "aria-describedby": id, "aria-invalid": true })}
      />
      <span className="check-label">{label}</span>
      {hint && <span className="check-hint">{hint}</span>}
      <FieldError id={id} error={error} />
    </label>
  )
}

function FieldError({ id, error }: { readonly id: string; readonly error: string | undefined }) {
  if (!error) return null
  return (
    <span className="field-error" id={id} role="alert">
      {toSentence(error)}
    </span>
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
  readonly name?: string
  readonly error?: string | undefined
  readonly onChange: (values: readonly Value[]) => void
}

/** Checkboxes for several values; the selection keeps the order of the options. */
export function Checks<Value extends string>(props: ChecksProps<Value>) {
  const { legend, options, values, name, error, onChange } = props
  const id = useId()
  const toggle = (turned: Value, on: boolean) =>
    onChange(
      options
        .map(({ value }) => value)
        .filter((value) => (value === turned ? on : values.includes(value))),
    )
  return (
    <fieldset
      className="checks"
      // Focusable, for errors that apply to all of them.
      {...(name && { name, tabIndex: -1 })}
      {...(error && { "aria-describedby": id })}
    >
      <legend className="field-label choice-legend">{legend}</legend>
      {options.map(({ value, label, hint }) => (
        <Check
          key={value}
          label={label}
          hint={hint}
          checked={values.includes(value)}
          onChange={(on) => toggle(value, on)}
        />
      ))}
      <FieldError id={id} error={error} />
    </fieldset>
  )
}
