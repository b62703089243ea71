import {
  catalogue,
  complaintAbout,
  type Translator,
  translatorOf,
  valuesIn,
} from "../../kit/catalogue.ts"
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

/** Every text of the login pages has a key; English names them all. */
export type TextKey = keyof typeof en

/** A text on every page that has it, or on one page alone. */
export type PageText = TextKey | `${string}/${TextKey}`

export const texts = { en, de, fr, es, it, pt, nl, pl, ja, zh } satisfies Record<
  string,
  Record<TextKey, string>
>

/** Picks the best language for a reader, best first, and the function that speaks it. */
export const translator = catalogue<TextKey>([
  { language: "en", messages: texts.en },
  ...Object.entries(texts).map(([language, messages]) => ({ language, messages })),
])

/** The function that speaks a language, but for the texts that somebody says otherwise. */
export const translatorSaying = (
  language: string,
  said: Readonly<Record<string, string>>,
): Translator<TextKey> => {
  const spoken = Object.entries(texts).find(([each]) => each === language)?.[1]
  return translatorOf({ language, messages: { ...texts.en, ...spoken, ...said } })
}

export const isTextKey = (key: string): key is TextKey => Object.hasOwn(texts.en, key)

/** Values that are numbers, of whatever text. */
const numbers = ["count", "minutes"]

/** Why a text can't stand at a key, in words that follow its name; undefined: it can. */
export const complaintOf = (key: TextKey, text: string): string | undefined =>
  complaintAbout(text, { values: valuesIn(texts.en[key]), numbers })
