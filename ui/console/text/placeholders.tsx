import { useRef } from "react"
import { Button } from "../../kit/index.ts"
import { t } from "../shell/index.ts"

type TextControl = HTMLInputElement | HTMLTextAreaElement

/** Remembers the focused field and the caret, where placeholders are inserted. */
export function useCaret() {
  const last = useRef<TextControl | undefined>(undefined)
  return {
    /** Event handlers for the fields. */
    onFocus: (event: { readonly target: TextControl }) => {
      last.current = event.target
    },
    /** Returns the name of the field and its text with the insertion at the caret. */
    put: (text: string) => {
      const field = last.current
      if (!field) return undefined
      const { name, value, selectionStart, selectionEnd } = field
      const from = selectionStart ?? value.length
      field.focus()
      return { name, value: value.slice(0, from) + text + value.slice(selectionEnd ?? from) }
    },
  }
}

type PlaceholdersProps = {
  readonly names: readonly string[]
  readonly format: (name: string) => string
  readonly onPick: (text: string) => void
}

/** Buttons that insert placeholders at the caret. */
export function Placeholders({ names, format: show, onPick }: PlaceholdersProps) {
  if (names.length === 0) return null
  return (
    <fieldset className="placeholders">
      <legend className="quiet small">{t("texts.placeholders")}</legend>
      {names.map((name) => (
        <Button key={name} small onClick={() => onPick(show(name))}>
          <code>{show(name)}</code>
        </Button>
      ))}
    </fieldset>
  )
}
