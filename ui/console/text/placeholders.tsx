import { useRef } from "react"
import { Button } from "../../kit/index.ts"
import { t } from "../shell/index.ts"

type TextControl = HTMLInputElement | HTMLTextAreaElement

/** Where the hand was last, so that what is offered goes there. */
export function useCaret() {
  const last = useRef<TextControl | undefined>(undefined)
  return {
    /** For the fields. */
    onFocus: (event: { readonly target: TextControl }) => {
      last.current = event.target
    },
    /** The name of the field, and its text with another one put in at the caret. */
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
  readonly show: (name: string) => string
  readonly onPick: (text: string) => void
}

/** What can stand in a text, to be put in where one types. */
export function Placeholders({ names, show, onPick }: PlaceholdersProps) {
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
