import { Fault } from "../../kernel/fault.ts"
import { isolate } from "../../kernel/text/bidi.ts"

const placeholder = /\{\{\s*\.(\w+)\s*\}\}/g

/** Rejects unknown placeholders and unmatched braces. */
export function validatePlaceholders(
  key: string,
  text: string,
  knownNames: readonly string[],
): void {
  const unknown = [...text.matchAll(placeholder)].find(
    ([, name = ""]) => !knownNames.includes(name),
  )
  const [stray] = unknown ?? /\{\{.{0,40}/s.exec(text.replace(placeholder, " ")) ?? []
  if (stray === undefined) return
  const allowedList = knownNames.map((name) => `{{.${name}}}`).join(", ")
  throw new Fault(
    "invalid_argument",
    "text.placeholder_unknown",
    `${key} has ${JSON.stringify(stray)}, which is not available here; ${
      allowedList ? `available placeholders are ${allowedList}` : "the text has no placeholders"
    }`,
  )
}

/** Inserts values on one line, so that a name can't add lines to a message. */
export const fillPlaceholders = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(placeholder, (_, name: string) => isolate(toOneLine(values[name] ?? "")))

const toOneLine = (value: string): string => value.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
