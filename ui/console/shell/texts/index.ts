import { type Translate, translatorOf } from "../../../kit/catalogue.ts"
import type en from "./en.json"
import type pagesEn from "./pages.en.json"

type FirstKey = keyof typeof en
type PageKey = keyof typeof pagesEn

/** Every text of the console has a key; English names them all. */
export type TextKey = FirstKey | PageKey

export type Texts = {
  readonly language: string
  readonly t: Translate<TextKey>
  /** Whether a key that is put together at run time is one of the catalogue's. */
  readonly has: (key: string) => key is TextKey
}

/**
 * The languages that the console is written in; one is loaded. What stands around every page and on
 * the first comes at once, by families of keys; the texts of other pages come with the first of
 * them.
 */
const languages = {
  en: { first: () => import("./en.json"), pages: () => import("./pages.en.json") },
  de: { first: () => import("./de.json"), pages: () => import("./pages.de.json") },
} as const

type Language = keyof typeof languages

const isKnown = (language: string): language is Language => Object.hasOwn(languages, language)

let language: Language = "en"
let pages: { readonly t: Translate<PageKey>; readonly has: (key: string) => boolean } | undefined

/** The texts in the first language of a reader that there is, else in English. */
export async function textsFor(wanted: readonly string[]): Promise<Texts> {
  const bases = wanted.map((each) => each.toLowerCase().split("-")[0] ?? "")
  language = bases.find(isKnown) ?? "en"
  const { default: messages } = await languages[language].first()
  const { t: early } = translatorOf<FirstKey>({ language, messages })
  const isEarly = (key: string): key is FirstKey => Object.hasOwn(messages, key)
  return {
    language,
    t: (key, values) => (isEarly(key) ? early(key, values) : later().t(key, values)),
    has: (key): key is TextKey => isEarly(key) || pages?.has(key) === true,
  }
}

function later() {
  if (!pages) throw new Error("This text belongs to a page that has not loaded its texts.")
  return pages
}

/** Loads what pages say, but for the first; they wait for it as for themselves. */
export async function loadPageTexts(): Promise<void> {
  if (pages) return
  const { default: messages } = await languages[language].pages()
  const { t } = translatorOf<PageKey>({ language, messages })
  pages = { t, has: (key) => Object.hasOwn(messages, key) }
}
