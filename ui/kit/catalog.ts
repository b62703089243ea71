import { MessageError, MessageFormat, parseMessage, validate } from "messageformat"
import { isolate } from "../../src/kernel/text/bidi.ts"

export type Values = Readonly<Record<string, string | number>>
export type Translate<Key extends string> = (key: Key, values?: Values) => string
export type TranslatePages<Key extends string> = Translate<Key> & {
  /** A translator for one page: uses `page/key`, or `key` if the page has no text of its own. */
  readonly on: (page: string) => TranslatePages<Key>
}
export type Translator<Key extends string> = {
  readonly language: string
  readonly t: TranslatePages<Key>
}

/**
 * Texts by language, as MessageFormat 2. The first language must be complete and is the fallback.
 * Returns a function that selects the best language for a user.
 */
export function createCatalog<Key extends string>(
  texts: readonly [Language<Key>, ...Language<Key>[]],
): (languages: readonly string[]) => Translator<Key> {
  const translators = new Map(texts.map((entry) => [entry.language, createTranslator(entry)]))
  const fallback = createTranslator(texts[0])
  return (languages) => {
    for (const preferred of languages) {
      const base = preferred.toLowerCase().split("-")[0] ?? ""
      const found = translators.get(base)
      if (found) return found
    }
    return fallback
  }
}

export type Language<Key extends string> = {
  readonly language: string
  readonly messages: Readonly<Record<Key, string>>
}

/** The translator for one language. */
export function createTranslator<Key extends string>({
  language,
  messages,
}: Language<Key>): Translator<Key> {
  const parsed = new Map<string, MessageFormat>()
  const say = (key: string, values: Values | undefined): string => {
    let message = parsed.get(key)
    if (!message) {
      message = new MessageFormat(language, findText(messages, key), { bidiIsolation: "none" })
      parsed.set(key, message)
    }
    return message.format(values && isolateValues(values))
  }
  const on = (pages: string): TranslatePages<Key> =>
    Object.assign((key: Key, values?: Values) => say(`${pages}${key}`, values), {
      on: (page: string) => on(`${pages}${page}/`),
    })
  return { language, t: on("") }
}

/** Isolates user-supplied names, so that bidirectional text in them doesn't affect the sentence. */
const isolateValues = (values: Values): Values =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === "string" ? isolate(value) : value,
    ]),
  )

/** The page's text, otherwise the general one. */
const findText = (texts: Readonly<Record<string, string>>, key: string): string =>
  texts[key] ?? (key.includes("/") ? findText(texts, key.slice(key.indexOf("/") + 1)) : "")

/**
 * Validates a message that replaces another one: returns an error as the rest of a sentence after
 * its name, or undefined. The message must use only the placeholders of the original; their values
 * are text, or numbers for those listed.
 */
export function findTextError(
  text: string,
  { values, numbers }: { readonly values: readonly string[]; readonly numbers: readonly string[] },
): string | undefined {
  const read = parseText(text)
  if (typeof read === "string") return read
  const unknown = [...read.variables].find((name) => !values.includes(name))
  if (unknown !== undefined) {
    const allowed = values.map((name) => `{$${name}}`).join(", ")
    const rest = allowed
      ? `can contain only these placeholders: ${allowed}`
      : "can't contain placeholders"
    return `has {$${unknown}}, which is not available here; ${rest}`
  }
  const sample = Object.fromEntries(
    values.map((name) => [name, numbers.includes(name) ? 3 : "text"]),
  )
  let complaint: string | undefined
  new MessageFormat("en", text).format(sample, (error) => {
    complaint = `can't be filled: ${error instanceof Error ? error.message : String(error)}`
  })
  return complaint
}

/** The placeholders of a message. */
export const listPlaceholders = (text: string): readonly string[] => {
  const read = parseText(text)
  return typeof read === "string" ? [] : [...read.variables]
}

/** Parses a message; returns the error as text if it is invalid. */
function parseText(text: string): ReturnType<typeof validate> | string {
  try {
    return validate(parseMessage(text))
  } catch (error) {
    if (error instanceof MessageError) return `is not a valid message: ${error.message}`
    throw error
  }
}
