/** Longer than any text to compare: names, addresses and passwords are shorter. */
const maxLength = 4096

/** Thirty marks on one letter, including the two characters that only decompose into marks. */
const manyMarks = /(?:(?!\u034f)[\p{M}\uff9e\uff9f]){30}/gu

/**
 * Normalizes a text. Sorting the marks on one letter takes quadratic time, a minute for 64 kB;
 * therefore a joiner is inserted after thirty, more than any language needs (UAX #15 §13,
 * Stream-Safe Text). Overlong texts are returned unchanged, for the reader to reject.
 */
export const normalForm = (text: string, form: "NFC" | "NFKC" | "NFKD"): string =>
  text.length > maxLength || isPlain(text)
    ? text
    : text.replace(manyMarks, "$&\u034f").normalize(form)

/**
 * Whether a text is printable ASCII, which is already normalized and without accents: most texts
 * are.
 */
const isPlain = (text: string): boolean => plainText.test(text)
const plainText = /^[ -~]*$/

/**
 * A common form for texts that only look different: removes compatibility forms and case.
 * Lower-casing turns a capital sigma into "ς" or "σ" depending on the next character; case folding
 * (Unicode §3.13) always into "σ". "ß" and "ss" stay different, and so do "ı" and "i" (RFC 8265
 * §3.3).
 */
export const fold = (value: string): string => foldExceptSigma(value).replaceAll("ς", "σ")

/** The same, but keeps both forms of sigma, as mailboxes, DNS and earlier versions do. */
export const foldExceptSigma = (value: string): string =>
  isPlain(value) ? value.toLowerCase() : normalForm(normalForm(value, "NFKC").toLowerCase(), "NFC")

/**
 * The forms of a folded text in earlier versions, which kept both forms of sigma: unchanged, with
 * "ς" where lower-casing puts it, and with "ς" at the end of each word, as users write it. The
 * common form with only "σ" comes first.
 */
export function sigmaForms(folded: string): readonly string[] {
  if (!/[σς]/.test(folded)) return [folded]
  const unified = folded.replaceAll("ς", "σ")
  const lowerCased = unified.replaceAll("σ", "Σ").toLowerCase()
  const asWritten = unified.replace(/σ(?![\p{L}\p{M}])/gu, "ς")
  return [...new Set([unified, folded, lowerCased, asWritten])]
}

/**
 * Folds names for searches, also without accents: "muller" finds Müller, "strasse" finds Straße.
 * Identifiers such as login names are only compared by `fold`.
 */
export function foldName(value: string): string {
  if (isPlain(value)) return value.toLowerCase()
  const letter = (each: string) => transliterations[each] ?? each
  const withoutMarks = normalForm(value, "NFKD").toLowerCase().replace(accents, "")
  const withoutAccents = normalForm(withoutMarks.replace(transliterated, letter), "NFC")
  // A text that consists only of accents is not empty.
  return withoutAccents === "" ? fold(value) : withoutAccents
}

/** Combining marks of any alphabet; marks that are separate letters stay. */
const accents = /[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]/g

/** Letters without a decomposition, with their usual transliteration. */
const transliterations: Readonly<Record<string, string>> = {
  ß: "ss",
  æ: "ae",
  œ: "oe",
  ø: "o",
  đ: "d",
  ð: "d",
  ł: "l",
  ħ: "h",
  þ: "th",
  ı: "i",
  // The form at the end of a word.
  ς: "σ",
}
const transliterated = new RegExp(`[${Object.keys(transliterations).join("")}]`, "g")

/**
 * Invisible characters and those that change the text direction: no two names may look alike.
 * Besides ignorable characters, Unicode has blank letters and symbols that no property covers.
 */
const invisibleClasses = String.raw`\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}`
const blankCharacters = String.raw`\u1680\u2800\u{13441}\u{13442}\u{16FE4}\u{1D159}`
const anyInvisible = new RegExp(`[${invisibleClasses}${blankCharacters}]`, "u")
const allInvisible = new RegExp(`[${invisibleClasses}${blankCharacters}]`, "gu")

export const hasInvisible = (text: string): boolean => anyInvisible.test(text)

/**
 * The form in which a name is unique, apart from its sigmas: folded, without invisible characters,
 * and with single spaces. Older names that contain such characters are still found.
 */
export const canonicalName = (name: string): string =>
  foldExceptSigma(foldExceptSigma(name).replace(allInvisible, "").replace(/\s+/g, " ").trim())
