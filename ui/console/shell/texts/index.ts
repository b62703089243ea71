import { catalogue, type Translate } from "../../../kit/catalogue.ts"
import type en from "./en.json"

/** Every text of the console has a key; English names them all. */
export type TextKey = keyof typeof en

export type Texts = {
  readonly language: string
  readonly t: Translate<TextKey>
  /** Whether a key that is put together at run time is one of the catalogue's. */
  readonly has: (key: string) => key is TextKey
}

/** The languages that the console is written in; one is loaded. */
const languages = {
  en: () => import("./en.json"),
  de: () => import("./de.json"),
} as const

type Language = keyof typeof languages

const isKnown = (language: string): language is Language => Object.hasOwn(languages, language)

/** The texts in the first language of a reader that there is, else in English. */
export async function textsFor(wanted: readonly string[]): Promise<Texts> {
  const bases = wanted.map((language) => language.toLowerCase().split("-")[0] ?? "")
  const language = bases.find(isKnown) ?? "en"
  const { default: messages } = await languages[language]()
  const { t } = catalogue<TextKey>([{ language, messages }])([language])
  return { language, t, has: (key): key is TextKey => Object.hasOwn(messages, key) }
}
