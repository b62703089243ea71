/** One form for texts that only look different: compatibility forms and case are gone. */
export const fold = (value: string): string =>
  value.normalize("NFKC").toLowerCase().normalize("NFC")

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
 * The form under which a name is unique: folded, without what nobody sees, and with one space
 * where a page would show one. A name of old that has any of that is still found as it is.
 */
export const canonical = (name: string): string =>
  fold(fold(name).replace(allUnseen, "").replace(/\s+/g, " ").trim())
