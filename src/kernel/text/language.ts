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
