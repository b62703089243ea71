const languages = ["en", "de", "fr", "es", "it", "pt", "nl", "pl", "ja", "zh"] as const

/** A language of the login pages, messages and audit log. */
export type PageLanguage = (typeof languages)[number]

/** The languages of the login pages, best first; their catalog contains exactly these. */
export const pageLanguages: readonly string[] = languages

/** The placeholder in a link for the language of the current page. */
const languagePlaceholder = /\{\{\s*\.Lang\s*\}\}/g

/** Replaces the language placeholder in a link. */
export const localizeLink = (link: string, language: string): string =>
  link.replace(languagePlaceholder, encodeURIComponent(language))

/** Whether a link contains no placeholder other than the language. */
export const isLinkTemplate = (link: string): boolean =>
  !/\{\{|\}\}/.test(link.replace(languagePlaceholder, ""))
