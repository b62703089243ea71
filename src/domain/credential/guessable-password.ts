import { loadOnce } from "../../kernel/lazy.ts"
import { normalForm } from "../../kernel/text/name.ts"

/** Tens of thousands of the most frequently leaked passwords, in lower case. */
const commonPasswords = loadOnce(async (): Promise<ReadonlySet<string>> => {
  const { dictionary } = await import("@zxcvbn-ts/language-common")
  return new Set(dictionary["passwords-common"])
})

/** A typical suffix that users append to satisfy rules: a digit, a year, a symbol. */
const suffix = /\P{L}{1,5}$/u
const wordLengthMin = 4

/**
 * Whether a password is a commonly used one, ignoring case and a short suffix (NIST SP 800-63B
 * §5.1.1.2).
 */
export async function isCommonPassword(plain: string): Promise<boolean> {
  const passwords = await commonPasswords()
  const small = normalForm(plain, "NFKC").toLowerCase()
  const word = small.replace(suffix, "")
  return passwords.has(small) || (word.length >= wordLengthMin && passwords.has(word))
}
