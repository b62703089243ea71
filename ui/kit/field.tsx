import {
  type InputHTMLAttributes,
  type ReactNode,
  type TextareaHTMLAttributes,
  useId,
  useState,
} from "react"
import { sentenceOf } from "./sentence.ts"

type FieldText = {
  readonly label: string
  readonly hint?: string | undefined
  readonly error?: string | undefined
  /** The word beside the label of a field that may stay empty. */
  readonly optional?: string | undefined
  /** Stays below the note, also where that is an error. */
  readonly below?: ReactNode
}

type Wiring = {
  readonly id: string
  readonly "aria-describedby"?: string
  readonly "aria-invalid"?: true
}

type FieldProps = FieldText & { readonly control: (wiring: Wiring) => ReactNode }

/** Label and note around one control, tied to it; an error takes the place of the hint. */
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
          {sentenceOf(error)}
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

export function TextField(props: FieldText & InputProps) {
  const { label, hint, error, optional, below, ...input } = props
  const text = { label, hint, error, optional, below }
  return <Field {...text} control={(w) => <input className="input" {...input} {...w} />} />
}

type AreaProps = Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, "className" | "id">

export function TextArea({ label, hint, error, optional, ...area }: FieldText & AreaProps) {
  const text = { label, hint, error, optional }
  return <Field {...text} control={(w) => <textarea className="input" {...area} {...w} />} />
}

type PasswordProps = FieldText & InputProps & { readonly show: string; readonly hide: string }

/** Can be looked at while typing; without a script the button stays away. */
export function PasswordField(props: PasswordProps) {
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
