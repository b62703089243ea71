/** What pages and messages are written in; whoever runs the service may offer fewer. */
const languages = ["de", "en", "es", "fr", "it", "ja", "nl", "pl", "pt", "zh"] as const

/** A language by its name, in the reader's language; empty for none. */
export const languageName = (reader: string, code: string): string =>
  code === "" ? "" : (new Intl.DisplayNames(reader, { type: "language" }).of(code) ?? code)

/** The languages to choose from, and the one that is set already, whatever it is. */
export function languageOptions(reader: string, current: string, any: string) {
  const codes = [...new Set([...languages, ...(current === "" ? [] : [current])])]
  const named = codes.map((value) => ({ value, label: languageName(reader, value) }))
  const sorted = named.toSorted((a, b) => a.label.localeCompare(b.label, reader))
  return current === "" ? [{ value: "", label: any }, ...sorted] : sorted
}
