import { language, languageName } from "../shell/index.ts"

/** Languages of pages and messages; the operator may offer fewer. */
const languages = ["de", "en", "es", "fr", "it", "ja", "nl", "pl", "pt", "zh"] as const

/** The available languages, and the current one even if it isn't available. */
export function createLanguageOptions(current: string, any: string) {
  const codes = [...new Set([...languages, ...(current === "" ? [] : [current])])]
  const named = codes.map((value) => ({ value, label: languageName(value) }))
  const sorted = named.toSorted((a, b) => a.label.localeCompare(b.label, language))
  return current === "" ? [{ value: "", label: any }, ...sorted] : sorted
}
