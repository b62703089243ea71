import { type ReactNode, useId } from "react"
import { sentenceOf } from "./sentence.ts"

type CheckProps = {
  readonly label: string
  readonly hint?: ReactNode
  /** By which a form finds it, to lead there what is refused. */
  readonly name?: string | undefined
  readonly error?: string | undefined
  readonly checked: boolean
  readonly disabled?: boolean
  readonly onChange: (checked: boolean) => void
}

/** One thing that is so or not, with a line that helps to decide. */
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
      <Note id={id} error={error} />
    </label>
  )
}

function Note({ id, error }: { readonly id: string; readonly error: string | undefined }) {
  if (!error) return null
  return (
    <span className="field-error" id={id} role="alert">
      {sentenceOf(error)}
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

/** Any of a few; the answer keeps the order in which they are offered. */
export function Checks<Value extends string>(props: ChecksProps<Value>) {
  const { legend, options, values, name, error, onChange } = props
  const id = useId()
  const turn = (turned: Value, on: boolean) =>
    onChange(
      options
        .map(({ value }) => value)
        .filter((value) => (value === turned ? on : values.includes(value))),
    )
  return (
    <fieldset
      className="checks"
      // Focused where a refusal is about all of them.
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
          onChange={(on) => turn(value, on)}
        />
      ))}
      <Note id={id} error={error} />
    </fieldset>
  )
}
