import type { Texts } from "./model.ts"

/** A kind of text that can be said otherwise. */
export type Template = {
  /** Its name in events. */
  readonly name: string
  /** All that it says in a language where nobody has said anything else. */
  readonly standard: (language: string) => Texts
  /** Refuses a text that can't stand at this key. */
  readonly check: (key: string, text: string) => void
}
