import { pageTexts } from "../../../../src/gen/console-texts.ts"
import { addTexts, setLanguage } from "../text.ts"

/**
 * The languages that the console is written in; one is loaded. What stands around every page and on
 * the first comes at once, by families of keys; a page brings what else it says.
 */
const languages = { en: () => import("./en.json"), de: () => import("./de.json") } as const

type Language = keyof typeof languages

const isKnown = (language: string): language is Language => Object.hasOwn(languages, language)

let chosen: Language = "en"

/** Speaks the first language of a reader that there is, else English. */
export async function loadTexts(wanted: readonly string[]): Promise<void> {
  const bases = wanted.map((each) => each.toLowerCase().split("-")[0] ?? "")
  chosen = bases.find(isKnown) ?? "en"
  setLanguage(chosen)
  addTexts((await languages[chosen]()).default)
}

export type PageName = keyof typeof pageTexts

/** Loads what a page says beyond the first view; it waits for that as for itself. */
export async function loadPageTexts(page: PageName): Promise<void> {
  addTexts((await pageTexts[page][chosen]()).default)
}
