import { catalogue, type Translate } from "../../kit/catalogue.ts"
import de from "./de.json" with { type: "json" }
import en from "./en.json" with { type: "json" }

export const texts = { en, de } satisfies Record<string, Record<keyof typeof en, string>>

export type Say = Translate<keyof typeof en>

/** Picks the best language for a reader, best first, and the function that speaks it. */
export const developmentTexts = catalogue<keyof typeof en>([
  { language: "en", messages: texts.en },
  { language: "de", messages: texts.de },
])
