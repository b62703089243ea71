import { Field } from "./field.tsx"

type SelectFieldProps<Value extends string> = {
  readonly label: string
  readonly hint?: string | undefined
  readonly error?: string | undefined
  readonly name?: string
  readonly options: readonly { readonly value: Value; readonly label: string }[]
  readonly disabled?: boolean
  readonly value: Value
  readonly onChange: (value: Value) => void
}

/** A select field for options without hints. */
export function SelectField<Value extends string>(props: SelectFieldProps<Value>) {
  const { label, hint, error, name, options, disabled, value, onChange } = props
  return (
    <Field
      label={label}
      hint={hint}
      error={error}
      control={(wiring) => (
        <select
          className="input"
          name={name}
          disabled={disabled}
          value={value}
          onChange={(event) => {
            const chosen = options.find((option) => option.value === event.target.value)
            if (chosen) onChange(chosen.value)
          }}
          {...wiring}
        >
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    />
  )
}
