import {
  createCatalog,
  createTranslator,
  findTextError,
  listPlaceholders,
  type Translator,
} from "../../kit/catalog.ts"
import de from "./de.json" with { type: "json" }
import en from "./en.json" with { type: "json" }
import es from "./es.json" with { type: "json" }
import fr from "./fr.json" with { type: "json" }
import it from "./it.json" with { type: "json" }
import ja from "./ja.json" with { type: "json" }
import nl from "./nl.json" with { type: "json" }
import pl from "./pl.json" with { type: "json" }
import pt from "./pt.json" with { type: "json" }
import zh from "./zh.json" with { type: "json" }

/** Every text of the login pages has a key; the English catalog contains all keys. */
export type TextKey = keyof typeof en

/** A text on every page that has it, or on one page only. */
export type PageText = TextKey | `${string}/${TextKey}`

export const texts = { en, de, fr, es, it, pt, nl, pl, ja, zh } satisfies Record<
  string,
  Record<TextKey, string>
>

/** Selects the best language for a user, best first, and returns its translator. */
export const translator = createCatalog<TextKey>([
  { language: "en", messages: texts.en },
  ...Object.entries(texts).map(([language, messages]) => ({ language, messages })),
])

/** The translator of a language, with custom texts. */
export const translatorWithTexts = (
  language: string,
  customTexts: Readonly<Record<string, string>>,
): Translator<TextKey> => {
  const spoken = Object.entries(texts).find(([each]) => each === language)?.[1]
  return createTranslator({ language, messages: { ...texts.en, ...spoken, ...customTexts } })
}

export const isTextKey = (key: string): key is TextKey => Object.hasOwn(texts.en, key)

/** Placeholders whose values are numbers. */
const numberPlaceholders = ["count", "minutes"]

/**
 * Why a text is invalid for a key, as the end of a sentence that begins with its name; undefined if
 * it is valid.
 */
export const textProblemOf = (key: TextKey, text: string): string | undefined =>
  findTextError(text, { values: listPlaceholders(texts.en[key]), numbers: numberPlaceholders })
