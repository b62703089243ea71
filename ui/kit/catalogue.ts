import { MessageError, MessageFormat, parseMessage, validate } from "messageformat"
import { isolated } from "../../src/kernel/text/bidi.ts"

export type Values = Readonly<Record<string, string | number>>
export type Translate<Key extends string> = (key: Key, values?: Values) => string
export type TranslatePages<Key extends string> = Translate<Key> & {
  /**
   * Speaks as one page does: what is at `page/key`, and where nobody has worded the page apart,
   * what is at `key`.
   */
  readonly on: (page: string) => TranslatePages<Key>
}
export type Translator<Key extends string> = {
  readonly language: string
  readonly t: TranslatePages<Key>
}

/**
 * Texts by language, as MessageFormat 2. The first language is complete and is what people get
 * when none of theirs is there. Answers a function that picks the best language for a reader.
 */
export function catalogue<Key extends string>(
  texts: readonly [Language<Key>, ...Language<Key>[]],
): (languages: readonly string[]) => Translator<Key> {
  const translators = new Map(texts.map((entry) => [entry.language, translatorOf(entry)]))
  const fallback = translatorOf(texts[0])
  return (languages) => {
    for (const wanted of languages) {
      const base = wanted.toLowerCase().split("-")[0] ?? ""
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

/** The function that speaks one language, in whoever's words. */
export function translatorOf<Key extends string>({
  language,
  messages,
}: Language<Key>): Translator<Key> {
  const parsed = new Map<string, MessageFormat>()
  const say = (key: string, values: Values | undefined): string => {
    let message = parsed.get(key)
    if (!message) {
      message = new MessageFormat(language, textAt(messages, key), { bidiIsolation: "none" })
      parsed.set(key, message)
    }
    return message.format(values && isolatedIn(values))
  }
  const on = (pages: string): TranslatePages<Key> =>
    Object.assign((key: Key, values?: Values) => say(`${pages}${key}`, values), {
      on: (page: string) => on(`${pages}${page}/`),
    })
  return { language, t: on("") }
}

/** Names are whatever their owners like: none turns around what a sentence says. */
const isolatedIn = (values: Values): Values =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      typeof value === "string" ? isolated(value) : value,
    ]),
  )

/** A page that words nothing apart says what every page says. */
const textAt = (texts: Readonly<Record<string, string>>, key: string): string =>
  texts[key] ?? (key.includes("/") ? textAt(texts, key.slice(key.indexOf("/") + 1)) : "")

/**
 * What is wrong with a message that takes the place of another, in words that follow its name;
 * undefined: nothing. It has the other's values, which are texts, or numbers where they are named.
 */
export function complaintAbout(
  text: string,
  { values, numbers }: { readonly values: readonly string[]; readonly numbers: readonly string[] },
): string | undefined {
  const read = readingOf(text)
  if (typeof read === "string") return read
  const unknown = [...read.variables].find((name) => !values.includes(name))
  if (unknown !== undefined) {
    const known = values.map((name) => `{$${name}}`).join(", ")
    const rest = known ? `what can stand in it is ${known}` : "it has no values"
    return `has {$${unknown}}, which stands for nothing here; ${rest}`
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

/** The values that a message has. */
export const valuesIn = (text: string): readonly string[] => {
  const read = readingOf(text)
  return typeof read === "string" ? [] : [...read.variables]
}

/** What a message is made of, or why nobody can read it. */
function readingOf(text: string): ReturnType<typeof validate> | string {
  try {
    return validate(parseMessage(text))
  } catch (error) {
    if (error instanceof MessageError) return `is no message that can be read: ${error.message}`
    throw error
  }
}
