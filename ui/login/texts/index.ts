import { catalogue } from "../../kit/catalogue.ts"
import de from "./de.json" with { type: "json" }
import en from "./en.json" with { type: "json" }

/** Every text of the login pages has a key; English names them all. */
export type TextKey = keyof typeof en

export const texts = { en, de } satisfies Record<string, Record<TextKey, string>>

/** Picks the best language for a reader, best first, and the function that speaks it. */
export const translator = catalogue<TextKey>([
  { language: "en", messages: texts.en },
  { language: "de", messages: texts.de },
])
