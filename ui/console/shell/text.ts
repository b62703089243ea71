import { createContext, useContext } from "react"
import type { Translate as TranslateOf } from "../../kit/catalogue.ts"
import type en from "./texts/en.json"
import type pagesEn from "./texts/pages.en.json"

/** Every text of the console has a key; English names them all. */
export type TextKey = keyof typeof en | keyof typeof pagesEn

/** Says a text in the reader's language. */
export type Translate = TranslateOf<TextKey>

export type Texts = {
  readonly language: string
  readonly t: Translate
  /** Whether a key that is put together at run time is one of the catalogue's. */
  readonly has: (key: string) => key is TextKey
}

export const TextContext = createContext<Texts | undefined>(undefined)

/** The texts of the console in the reader's language. */
export function useText(): Texts {
  const texts = useContext(TextContext)
  if (!texts) throw new Error("This stands outside the console: render it in TextContext.")
  return texts
}
