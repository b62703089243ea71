type ChoiceOption<Value extends string> = {
  readonly value: Value
  readonly label: string
  readonly hint: string
}

type ChoiceProps<Value extends string> = {
  readonly legend: string
  readonly name: string
  readonly options: readonly ChoiceOption<Value>[]
  readonly value: Value
  readonly onChange: (value: Value) => void
}

/** Radio buttons with a hint each. */
export function Choice<Value extends string>(props: ChoiceProps<Value>) {
  const { legend, name, options, value, onChange } = props
  return (
    <fieldset>
      <legend className="field-label choice-legend">{legend}</legend>
      {options.map((option) => (
        <label className="choice" key={option.value}>
          <input
            type="radio"
            name={name}
            value={option.value}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          <span className="choice-label">{option.label}</span>
          <span className="choice-hint">{option.hint}</span>
        </label>
      ))}
    </fieldset>
  )
}

type ChipsProps<Value extends string> = Omit<ChoiceProps<Value>, "options"> & {
  readonly options: readonly Omit<ChoiceOption<Value>, "hint">[]
}

/** Chips to select one value, such as a list filter. */
export function Chips<Value extends string>(props: ChipsProps<Value>) {
  const { legend, name, options, value, onChange } = props
  return (
    <fieldset className="chips">
      <legend className="visually-hidden">{legend}</legend>
      {options.map((option) => (
        <label className="chip" key={option.value}>
          <input
            className="visually-hidden"
            type="radio"
            name={name}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          {option.label}
        </label>
      ))}
    </fieldset>
  )
}
