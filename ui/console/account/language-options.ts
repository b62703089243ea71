import { pageLanguages } from "../../../src/kernel/text/language.ts"
import { language, languageName } from "../shell/index.ts"

/** The languages of pages, of which operators may offer fewer, and the current one. */
export function createLanguageOptions(current: string, any: string) {
  const codes = [...new Set([...pageLanguages, ...(current === "" ? [] : [current])])]
  const named = codes.map((value) => ({ value, label: languageName(value) }))
  const sorted = named.toSorted((a, b) => a.label.localeCompare(b.label, language))
  return current === "" ? [{ value: "", label: any }, ...sorted] : sorted
}
