import { pageTexts } from "../../../../src/gen/console-texts.ts"
import { addTexts, setLanguage } from "../text.ts"

/**
 * The languages of the console, of which one is loaded. Texts of the layout and the first page are
 * loaded immediately; each page loads the others it needs.
 */
const languages = { en: () => import("./en.json"), de: () => import("./de.json") } as const

type Language = keyof typeof languages

const isLanguage = (language: string): language is Language => Object.hasOwn(languages, language)

let currentLanguage: Language = "en"

/** Loads the first available language of the user, otherwise English. */
export async function loadTexts(preferred: readonly string[]): Promise<void> {
  const bases = preferred.map((each) => each.toLowerCase().split("-")[0] ?? "")
  currentLanguage = bases.find(isLanguage) ?? "en"
  setLanguage(currentLanguage)
  addTexts((await languages[currentLanguage]()).default)
}

export type PageName = keyof typeof pageTexts

/** Loads the additional texts of a page, together with the page. */
export async function loadPageTexts(page: PageName): Promise<void> {
  addTexts((await pageTexts[page][currentLanguage]()).default)
}
