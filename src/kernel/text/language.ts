/** What the login pages are written in, best first; its catalogue has these and no other. */
export const pageLanguages: readonly string[] = [
  "en",
  "de",
  "fr",
  "es",
  "it",
  "pt",
  "nl",
  "pl",
  "ja",
  "zh",
]

/** Stands in a link for the language of the page that shows it. */
const languagePlace = /\{\{\s*\.Lang\s*\}\}/g

/** A link as a page in a language shows it. */
export const linkIn = (link: string, language: string): string =>
  link.replace(languagePlace, encodeURIComponent(language))

/** Whether the language is the only thing that a link leaves open. */
export const isLinkTemplate = (link: string): boolean =>
  !/\{\{|\}\}/.test(link.replace(languagePlace, ""))
