import { MessageFormat } from "messageformat"

export type Values = Readonly<Record<string, string | number>>
export type Translate<Key extends string> = (key: Key, values?: Values) => string
export type Translator<Key extends string> = {
  readonly language: string
  readonly t: Translate<Key>
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

function translatorOf<Key extends string>({ language, messages }: Language<Key>): Translator<Key> {
  const parsed = new Map<Key, MessageFormat>()
  const t: Translate<Key> = (key, values) => {
    let message = parsed.get(key)
    if (!message) {
      message = new MessageFormat(language, messages[key], { bidiIsolation: "none" })
      parsed.set(key, message)
    }
    return message.format(values)
  }
  return { language, t }
}
