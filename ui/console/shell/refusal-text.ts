import { toSentence } from "../../kit/index.ts"
import type { Refusal } from "./refusal.ts"
import { has, t } from "./text.ts"

/** The text of an error, translated if the catalog contains it. */
export function refusalText({ id, message }: Refusal): string {
  const key = `fault.${id}`
  return has(key) ? t(key) : toSentence(message)
}

/** The text of an error next to its field, without the field name. */
export const refusalTextAtField = ({ expected: request, ...refusal }: Refusal): string =>
  refusalText({ ...refusal, message: request ?? refusal.message })
