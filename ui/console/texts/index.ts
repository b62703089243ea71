import { catalogue } from "../../kit/catalogue.ts"
import de from "./de.json" with { type: "json" }
import en from "./en.json" with { type: "json" }

/** Every text of the console has a key; English names them all. */
export type TextKey = keyof typeof en

export const texts = { en, de } satisfies Record<string, Record<TextKey, string>>

export const translator = catalogue<TextKey>([
  { language: "en", messages: texts.en },
  { language: "de", messages: texts.de },
])
