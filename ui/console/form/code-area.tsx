import { type KeyboardEvent, useRef } from "react"
import { Field } from "../../kit/index.ts"
import { t } from "../shell/index.ts"

type CodeAreaProps = {
  readonly label: string
  readonly name: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly error?: string | undefined
  /** Number of the line with an error, starting at 1. */
  readonly errorLine?: number | undefined
  readonly readOnly?: boolean
}

/**
 * A code editor with line numbers; Tab inserts two spaces. After Escape, Tab moves the focus, for
 * keyboard users.
 */
export function CodeArea(props: CodeAreaProps) {
  const { label, name, value, onChange, error, errorLine, readOnly } = props
  const leaving = useRef(false)
  const numbers = useRef<HTMLOListElement>(null)
  const press = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.key !== "Tab" || leaving.current || readOnly) {
      leaving.current = event.key === "Escape"
      return
    }
    event.preventDefault()
    event.stopPropagation()
    const { selectionStart, selectionEnd } = event.currentTarget
    // Uses the browser's editing command, so that it can be undone.
    if (!event.shiftKey) document.execCommand("insertText", false, "  ")
    else {
      const line = value.lastIndexOf("\n", selectionStart - 1) + 1
      if (value.slice(line, line + 2) !== "  ") return
      event.currentTarget.setSelectionRange(line, line + 2)
      document.execCommand("delete")
      event.currentTarget.setSelectionRange(
        Math.max(line, selectionStart - 2),
        Math.max(line, selectionEnd - 2),
      )
    }
  }
  return (
    <Field
      label={label}
      error={error}
      hint={t("code.hint")}
      control={(wiring) => (
        <div className="code">
          <ol className="code-numbers" aria-hidden="true" ref={numbers}>
            {value.split("\n").map((_, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other identity
              <li key={at} className={at + 1 === errorLine ? "code-wrong" : undefined}>
                {at + 1}
              </li>
            ))}
          </ol>
          <textarea
            className="code-text"
            name={name}
            value={value}
            readOnly={readOnly}
            rows={Math.min(30, Math.max(12, value.split("\n").length + 1))}
            wrap="off"
            spellCheck={false}
            autoCapitalize="none"
            autoComplete="off"
            maxLength={40_000}
            onChange={(event) => onChange(event.target.value)}
            onKeyDown={press}
            onScroll={(event) => {
              if (numbers.current) numbers.current.scrollTop = event.currentTarget.scrollTop
            }}
            {...wiring}
          />
        </div>
      )}
    />
  )
}
