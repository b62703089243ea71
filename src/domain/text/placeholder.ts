import { Fault } from "../../kernel/fault.ts"
import { isolated } from "../../kernel/text/bidi.ts"

const placeholder = /\{\{\s*\.(\w+)\s*\}\}/g

/** Refuses what stands for a value that a text does not get, and braces that stand for nothing. */
export function checkPlaceholders(key: string, text: string, known: readonly string[]): void {
  const unknown = [...text.matchAll(placeholder)].find(([, name = ""]) => !known.includes(name))
  const [stray] = unknown ?? /\{\{.{0,40}/s.exec(text.replace(placeholder, " ")) ?? []
  if (stray === undefined) return
  const wanted = known.map((name) => `{{.${name}}}`).join(", ")
  throw new Fault(
    "invalid_argument",
    "text.placeholder_unknown",
    `${key} has ${JSON.stringify(stray)}, which stands for nothing here; ${
      wanted ? `what can stand in it is ${wanted}` : "it has no values"
    }`,
  )
}

/** Puts values in; they are one line each, so that no name can add lines to a message. */
export const fillIn = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replace(placeholder, (_, name: string) => isolated(oneLine(values[name] ?? "")))

const oneLine = (value: string): string => value.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
