import { Alert } from "../../kit/alert.tsx"
import { sentenceOf } from "../../kit/sentence.ts"
import type { Refusal } from "./refusal.ts"
import { useText } from "./text.ts"
import type { Texts } from "./texts/index.ts"

/** Why the server refused: in the reader's language where the catalogue knows it. */
export function wordsOf({ t, has }: Texts, { id, message }: Refusal): string {
  const key = `fault.${id}`
  return has(key) ? t(key) : sentenceOf(message)
}

/** The same at the field that it is about, whose name stands there already. */
export const wordsAtField = (texts: Texts, { wanted, ...refusal }: Refusal): string =>
  wordsOf(texts, { ...refusal, message: wanted ?? refusal.message })

/** A refusal beside what was tried; nothing where there is none. */
export function Refused({ refusal }: { readonly refusal: Refusal | undefined }) {
  const texts = useText()
  return refusal && <Alert tone="danger">{wordsOf(texts, refusal)}</Alert>
}
