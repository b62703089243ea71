// Users whose names are distributed as real ones: few names are common, most are rare, and nearly
// half of all addresses belong to one provider. A number always yields the same user.
import type { PersonOf } from "./population.ts"

const starts = "b br c ch d dr f g gr h j k kl l m n p r s sch st t v w z".split(" ")
const vowels = "a e i o u ei ie au ee ia ü ö é".split(" ")
const ends = "n r l s t nn tz ck ld rt ng m ss ska vic sen son ez".split(" ")
const domains = "gmail.com gmail.com gmail.com outlook.com hotmail.com yahoo.com icloud.com".split(
  " ",
)
const greek = ["Σωκράτης", "Ελένη", "Οδυσσέας", "Νίκος"]

/** A number from 0 up to `end`, derived from the user's number and the purpose. */
const numberOf = (count: number, purpose: number, end: number): number =>
  Bun.hash.xxHash32(`${count}:${purpose}`) % end

/** The same, with small numbers much more frequent. */
const skewedNumber = (count: number, purpose: number, end: number): number =>
  Math.floor(end ** (numberOf(count, purpose, 1_000_003) / 1_000_003)) - 1

function createWord(count: number, purpose: number, syllables: number): string {
  const part = (of: readonly string[], each: number) =>
    of[numberOf(count, purpose + each, of.length)]
  const word = Array.from(
    { length: syllables },
    (_, each) => `${part(starts, 3 * each)}${part(vowels, 3 * each + 1)}`,
  ).join("")
  const name = `${word}${part(ends, 100)}`
  return `${name.slice(0, 1).toUpperCase()}${name.slice(1)}`
}

const givenNameOf = (number: number): string =>
  number % 250 === 249
    ? `${greek[number % greek.length]}`
    : createWord(number, 1000, 1 + (number % 2))

export const familyNameOf = (number: number): string => createWord(number, 2000, 1 + (number % 3))

const ascii = (text: string): string =>
  text
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^a-z]/g, "")

export const personOf: PersonOf = (count) => {
  const givenName = givenNameOf(skewedNumber(count, 1, 5000))
  const familyName = familyNameOf(skewedNumber(count, 2, 60_000))
  const domain =
    numberOf(count, 3, 10) < 7
      ? domains[numberOf(count, 4, domains.length)]
      : `${ascii(familyNameOf(skewedNumber(count, 5, 3000)))}.example`
  const mailbox = `${ascii(givenName) || "x"}.${ascii(familyName)}${count}`
  const email = `${mailbox}@${domain}`
  return {
    // Every second user signs in with the email address.
    userName: count % 2 === 0 ? email : mailbox,
    profile: { givenName, familyName },
    email: { value: email, verified: true },
  }
}
