import { createTranslator, type Translate as TranslateOf } from "../../kit/index.ts"
import type en from "./texts/en.json"
import type pagesEn from "./texts/pages.en.json"

/** Text keys of the console, as defined by the English catalog. */
export type TextKey = keyof typeof en | keyof typeof pagesEn

const messages: Record<string, string> = {}
let translator = createTranslator<string>({ language: "en", messages })

/** The user's language, set before the first rendering and constant afterwards. */
export let language = "en"

export function setLanguage(newLanguage: string): void {
  language = newLanguage
  translator = createTranslator({ language, messages })
}

/** The name of a language, in the user's language; empty for an empty code. */
export const languageName = (code: string): string =>
  code === "" ? "" : (new Intl.DisplayNames(language, { type: "language" }).of(code) ?? code)

/** Adds loaded texts in the user's language. */
export function addTexts(texts: Readonly<Record<string, string>>): void {
  Object.assign(messages, texts)
}

/** Whether a key that was composed at run time exists in the catalog. */
export const has = (key: string): key is TextKey => Object.hasOwn(messages, key)

/** Returns a text in the user's language. */
export const t: TranslateOf<TextKey> = (key, values) => {
  if (!has(key)) throw new Error(`no page has loaded the text ${key}`)
  return translator.t(key, values)
}
