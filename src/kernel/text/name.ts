/** Longer than anything that is compared: no name, address or password has as many letters. */
const lengthMax = 4096

/** Marks on one letter, with the two that only become marks when they are taken apart. */
const manyMarks = /(?:(?!\u034f)[\p{M}\uff9e\uff9f]){30}/gu

/**
 * A text in a normal form of Unicode. Marks on one letter are sorted, at a cost of the square of
 * their number, and 64 kB of them would take a minute; so after thirty, as many as any language
 * needs, a joiner parts them (UAX #15 §13, Stream-Safe Text). What is too long is left as it is,
 * for its reader to refuse or not to find.
 */
export const normalForm = (text: string, form: "NFC" | "NFKC" | "NFKD"): string =>
  text.length > lengthMax || isPlain(text)
    ? text
    : text.replace(manyMarks, "$&\u034f").normalize(form)

/** Whether a text has nothing but what is its own normal form and has no accent: most have not. */
const isPlain = (text: string): boolean => plainText.test(text)
const plainText = /^[ -~]*$/

/**
 * One form for texts that only look different: compatibility forms and case are gone. Lower-casing
 * makes a capital sigma "ς" or "σ" by what stands next to it; case folding (Unicode §3.13) makes
 * both "σ". "ß" and "ss" stay two, and so do "ı" and "i", as RFC 8265 §3.3 has it.
 */
export const fold = (value: string): string => foldExceptSigma(value).replaceAll("ς", "σ")

/** The same where both forms of sigma are kept, as mailboxes, DNS and earlier versions do. */
export const foldExceptSigma = (value: string): string =>
  isPlain(value) ? value.toLowerCase() : normalForm(normalForm(value, "NFKC").toLowerCase(), "NFC")

/**
 * What a folded text can have been for earlier versions, which kept both forms of sigma: as it is
 * given, with "ς" where lower-casing puts it, and with "ς" at the end of each word, as people write
 * it. The one with "σ" alone, which is the same for all of them, comes first.
 */
export function sigmaForms(folded: string): readonly string[] {
  if (!/[σς]/.test(folded)) return [folded]
  const alike = folded.replaceAll("ς", "σ")
  const lowerCased = alike.replaceAll("σ", "Σ").toLowerCase()
  const written = alike.replace(/σ(?![\p{L}\p{M}])/gu, "ς")
  return [...new Set([alike, folded, lowerCased, written])]
}

/**
 * The same for names, which are also found without their accents: "muller" is Müller, "strasse" is
 * Straße. What tells people apart, like what they sign in with, is only ever compared by `fold`.
 */
export function foldName(value: string): string {
  if (isPlain(value)) return value.toLowerCase()
  const letter = (each: string) => spelled[each] ?? each
  const bare = normalForm(value, "NFKD").toLowerCase().replace(accents, "")
  const plain = normalForm(bare.replace(letters, letter), "NFC")
  // A text of nothing but accents is not an empty one.
  return plain === "" ? fold(value) : plain
}

/** Marks above and below letters of any alphabet; marks that are letters of their own stay. */
const accents = /[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]/g

/** Letters that Unicode does not take apart, as people type them who don't have them. */
const spelled: Readonly<Record<string, string>> = {
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
  // Greek has another one at the end of a word.
  ς: "σ",
}
const letters = new RegExp(`[${Object.keys(spelled).join("")}]`, "g")

/**
 * Characters that leave nothing to be seen, or that turn others around: no two names may look
 * alike. Beside those that Unicode calls ignorable it has blanks of its own among letters and
 * symbols, which no property names.
 */
const unseen = String.raw`\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}`
const blank = String.raw`\u1680\u2800\u{13441}\u{13442}\u{16FE4}\u{1D159}`
const anyUnseen = new RegExp(`[${unseen}${blank}]`, "u")
const allUnseen = new RegExp(`[${unseen}${blank}]`, "gu")

export const hasUnseen = (text: string): boolean => anyUnseen.test(text)

/**
 * The form under which a name is unique, beside its sigmas: folded, without what nobody sees, and
 * with one space where a page would show one. A name of old that has any of that is still found as
 * it is.
 */
export const canonical = (name: string): string =>
  foldExceptSigma(foldExceptSigma(name).replace(allUnseen, "").replace(/\s+/g, " ").trim())
