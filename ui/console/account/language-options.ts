import { language, languageName } from "../shell/index.ts"

/** What pages and messages are written in; whoever runs the service may offer fewer. */
const languages = ["de", "en", "es", "fr", "it", "ja", "nl", "pl", "pt", "zh"] as const

/** The languages to choose from, and the one that is set already, whatever it is. */
export function languageOptions(current: string, any: string) {
  const codes = [...new Set([...languages, ...(current === "" ? [] : [current])])]
  const named = codes.map((value) => ({ value, label: languageName(value) }))
  const sorted = named.toSorted((a, b) => a.label.localeCompare(b.label, language))
  return current === "" ? [{ value: "", label: any }, ...sorted] : sorted
}
