import { lazily } from "../../kernel/lazy.ts"
import { normalForm } from "../../kernel/text/name.ts"

/** Tens of thousands of passwords that leaked most often, in small letters. */
const list = lazily(async (): Promise<ReadonlySet<string>> => {
  const { dictionary } = await import("@zxcvbn-ts/language-common")
  return new Set(dictionary["passwords-common"])
})

/** What people put behind a word so that it is taken: a digit, a year, a sign. */
const tail = /\P{L}{1,5}$/u
const wordMin = 4

/**
 * Whether a password is one of those that are tried first everywhere, whatever its capitals and
 * what little stands behind it (NIST SP 800-63B §5.1.1.2).
 */
export async function isCommon(plain: string): Promise<boolean> {
  const known = await list()
  const small = normalForm(plain, "NFKC").toLowerCase()
  const word = small.replace(tail, "")
  return known.has(small) || (word.length >= wordMin && known.has(word))
}
