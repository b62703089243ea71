import {
  type InputHTMLAttributes,
  type ReactNode,
  type TextareaHTMLAttributes,
  useId,
  useState,
} from "react"
import { toSentence } from "./sentence.ts"

type FieldTextProps = {
  readonly label: string
  readonly hint?: string | undefined
  readonly error?: string | undefined
  /** The mark next to the label of an optional field. */
  readonly optional?: string | undefined
  /** Content below the hint or error. */
  readonly below?: ReactNode
}

type ControlProps = {
  readonly id: string
  readonly "aria-describedby"?: string
  readonly "aria-invalid"?: true
}

type FieldProps = FieldTextProps & { readonly control: (wiring: ControlProps) => ReactNode }

/**
 * A label and a hint for one control, connected with ARIA attributes; an error replaces the hint.
 */
export function Field({ label, hint, error, optional, below, control }: FieldProps) {
  const id = useId()
  const note = error ?? hint
  const notes = [...(note ? [`${id}-note`] : []), ...(below ? [`${id}-below`] : [])].join(" ")
  return (
    <div className="field">
      <label className="field-label" htmlFor={id}>
        {label}
        {optional && <span className="field-optional"> {optional}</span>}
      </label>
      <div className="field-box">
        {control({
          id,
          ...(notes && { "aria-describedby": notes }),
          ...(error && { "aria-invalid": true }),
        })}
      </div>
      {error && (
        <p className="field-error" id={`${id}-note`} role="alert">
          {toSentence(error)}
        </p>
      )}
      {hint && !error && (
        <p className="field-hint" id={`${id}-note`}>
          {hint}
        </p>
      )}
      {below && <div id={`${id}-below`}>{below}</div>}
    </div>
  )
}

type InputProps = Omit<InputHTMLAttributes<HTMLInputElement>, "className" | "id">

export function TextField(props: FieldTextProps & InputProps) {
  const { label, hint, error, optional, below, ...input } = props
  const text = { label, hint, error, optional, below }
  return <Field {...text} control={(w) => <input className="input" {...input} {...w} />} />
}

type TextAreaProps = Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, "className" | "id">

export function TextArea({
  label,
  hint,
  error,
  optional,
  ...area
}: FieldTextProps & TextAreaProps) {
  const text = { label, hint, error, optional }
  return <Field {...text} control={(w) => <textarea className="input" {...area} {...w} />} />
}

type PasswordFieldProps = FieldTextProps &
  InputProps & { readonly show: string; readonly hide: string }

/** A password field with a button to show it; the button is hidden without scripts. */
export function PasswordField(props: PasswordFieldProps) {
  const { label, hint, error, optional, below, show, hide, ...input } = props
  const [shown, setShown] = useState(false)
  return (
    <Field
      label={label}
      hint={hint}
      error={error}
      optional={optional}
      below={below}
      control={(wiring) => (
        <>
          <input
            className="input"
            autoCapitalize="none"
            spellCheck={false}
            {...input}
            {...wiring}
            type={shown ? "text" : "password"}
          />
          <button
            type="button"
            className="field-reveal"
            aria-controls={wiring.id}
            aria-pressed={shown}
            data-reveal={wiring.id}
            data-show={show}
            data-hide={hide}
            onClick={() => setShown(!shown)}
          >
            {shown ? hide : show}
          </button>
        </>
      )}
    />
  )
}
