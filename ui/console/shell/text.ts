import { type Translate as TranslateOf, translatorOf } from "../../kit/index.ts"
import type en from "./texts/en.json"
import type pagesEn from "./texts/pages.en.json"

/** Every text of the console has a key; English names them all. */
export type TextKey = keyof typeof en | keyof typeof pagesEn

const messages: Record<string, string> = {}
let translator = translatorOf<string>({ language: "en", messages })

/** The reader's language, which is settled before anything is drawn and holds from then on. */
export let language = "en"

export function setLanguage(wanted: string): void {
  language = wanted
  translator = translatorOf({ language, messages })
}

/** A language by its name, in the reader's language; empty for none. */
export const languageName = (code: string): string =>
  code === "" ? "" : (new Intl.DisplayNames(language, { type: "language" }).of(code) ?? code)

/** Makes texts known, in the reader's language. */
export function addTexts(texts: Readonly<Record<string, string>>): void {
  Object.assign(messages, texts)
}

/** Whether a key that is put together at run time is one of the catalogue's. */
export const has = (key: string): key is TextKey => Object.hasOwn(messages, key)

/** Says a text in the reader's language. */
export const t: TranslateOf<TextKey> = (key, values) => {
  if (!has(key)) throw new Error(`No page has loaded the text ${key}.`)
  return translator.t(key, values)
}
