import { pageTexts } from "../../../../src/gen/console-texts.ts"
import { translatorOf } from "../../../kit/catalogue.ts"
import type { TextKey, Texts } from "../text.ts"

/**
 * The languages that the console is written in; one is loaded. What stands around every page and on
 * the first comes at once, by families of keys; a page brings what else it says.
 */
const languages = { en: () => import("./en.json"), de: () => import("./de.json") } as const

type Language = keyof typeof languages

const isKnown = (language: string): language is Language => Object.hasOwn(languages, language)

let language: Language = "en"
const messages: Record<string, string> = {}

const has = (key: string): key is TextKey => Object.hasOwn(messages, key)

/** The texts in the first language of a reader that there is, else in English. */
export async function textsFor(wanted: readonly string[]): Promise<Texts> {
  const bases = wanted.map((each) => each.toLowerCase().split("-")[0] ?? "")
  language = bases.find(isKnown) ?? "en"
  Object.assign(messages, (await languages[language]()).default)
  const { t } = translatorOf<string>({ language, messages })
  return {
    language,
    t: (key, values) => {
      if (!has(key)) throw new Error(`No page has loaded the text ${key}.`)
      return t(key, values)
    },
    has,
  }
}

export type PageName = keyof typeof pageTexts

/** Loads what a page says beyond the first view; it waits for that as for itself. */
export async function loadPageTexts(page: PageName): Promise<void> {
  Object.assign(messages, (await pageTexts[page][language]()).default)
}
