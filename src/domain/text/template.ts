import type { Texts } from "./model.ts"

/** A customizable set of texts. */
export type TextTemplate = {
  /** The name in events. */
  readonly name: string
  /** The default texts in a language. */
  readonly defaults: (language: string) => Texts
  /** Throws if a text is not valid for a key. */
  readonly validate: (key: string, text: string) => void
}
