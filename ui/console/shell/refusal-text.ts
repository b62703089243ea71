import { sentenceOf } from "../../kit/index.ts"
import type { Refusal } from "./refusal.ts"
import { has, t } from "./text.ts"

/** Why the server refused: in the reader's language where the catalogue knows it. */
export function wordsOf({ id, message }: Refusal): string {
  const key = `fault.${id}`
  return has(key) ? t(key) : sentenceOf(message)
}

/** The same at the field that it is about, whose name stands there already. */
export const refusalTextAtField = ({ wanted, ...refusal }: Refusal): string =>
  wordsOf({ ...refusal, message: wanted ?? refusal.message })
