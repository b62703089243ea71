import { createCatalog, type Translate } from "../../kit/catalog.ts"
import de from "./de.json" with { type: "json" }
import en from "./en.json" with { type: "json" }

export const texts = { en, de } satisfies Record<string, Record<keyof typeof en, string>>

export type DevelopmentTranslate = Translate<keyof typeof en>

/** Selects the best available language and returns its translator. */
export const developmentTexts = createCatalog<keyof typeof en>([
  { language: "en", messages: texts.en },
  { language: "de", messages: texts.de },
])
