import { fieldError } from "../kernel/fault.ts"
import { hasUnseen, normalForm } from "../kernel/text/name.ts"
import { foldEmail } from "./email.ts"

/**
 * Reads the fields of a user as people write them: trimmed, in one form, within bounds. Each
 * refuses with `invalid_argument` and says what it wants; none repeats what it was given.
 */
const textMax = 200

/** What has no meaning that all agree on, and so no look. */
const undefinedYet = /[\p{Co}\p{Cn}]/u
const isUnclear = (text: string): boolean => hasUnseen(text) || undefinedYet.test(text)

const control = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u

/** A name that somebody signs in with; compare such names folded. */
export function loginNameOf(text: string): string {
  const name = normalForm(text, "NFKC").trim()
  if (name === "" || name.length > textMax || isUnclear(name)) {
    throw refusedError("username", `must have 1 to ${textMax} visible characters`)
  }
  return name.replace(/ +/g, " ")
}

/** The parts of a name around its last "@"; undefined where it has no domain. */
export function partsOf(name: string) {
  const at = name.lastIndexOf("@")
  if (at < 1 || at === name.length - 1) return undefined
  return { local: name.slice(0, at), domain: name.slice(at + 1) }
}

/** A text that may be left out: trimmed, in one form, and nothing of control in it. */
export function optionalTextOf(field: string, text: string | undefined, max = textMax): string {
  const shown = normalForm(text ?? "", "NFC").trim()
  if (shown.length > max || control.test(shown)) {
    throw refusedError(field, `must have at most ${max} characters and no control characters`)
  }
  return shown
}

/** What a person is shown as who has chosen nothing else. */
export const fullName = ({
  givenName,
  familyName,
}: {
  readonly givenName: string
  readonly familyName: string
}) => `${givenName} ${familyName}`

/** An e-mail address: one local part, one domain, nothing that a mail header could trip over. */
export function emailOf(text: string): string {
  const address = normalForm(text, "NFC").trim()
  if (address.length > textMax || isUnclear(address) || !emailShape.test(address)) {
    throw refusedError("email", "must be an e-mail address such as name@example.com")
  }
  return address
}

const label = String.raw`[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?`
const emailShape = new RegExp(String.raw`^[^\s@"(),:;<>[\\\]]+@${label}(?:\.${label})*$`, "u")

/** Whether two texts are one address, as addresses are compared here. */
export const isSameEmail = (one: string, other: string): boolean =>
  foldEmail(one) === foldEmail(other)

/** A phone number in its international form (E.164), however it was grouped. */
export function phoneOf(text: string): string {
  const number = ungrouped(text)
  if (!phoneShape.test(number)) {
    throw refusedError("phone", "must be an international number such as +41791234567")
  }
  return number
}

/** Whether a text is a phone number that a person may have. */
export const isPhone = (text: string): boolean => phoneShape.test(ungrouped(text))

/** Whether two texts are one number, however they are grouped. */
export const isSamePhone = (one: string, other: string): boolean =>
  ungrouped(one) === ungrouped(other)

const ungrouped = (text: string): string => text.trim().replace(/[\s().-]/g, "")
const phoneShape = /^\+[1-9]\d{6,14}$/

/** Whether a text is a language tag (BCP 47) that a person may have. */
export const isLanguage = (text: string): boolean =>
  text.length <= 10 && /^[a-z]{2,3}(-[a-z0-9]{2,8})*$/i.test(text)

/** A language tag, or nothing. */
export function languageOf(text: string): string {
  if (text !== "" && !isLanguage(text)) {
    throw refusedError("preferred_language", "must be a language tag such as en or pt-BR")
  }
  return text
}

/**
 * The template of a link that a mail carries: the address of a page, with places to fill in. To
 * some programs a backslash is a slash, to others a part of the user name before the host.
 */
export function urlTemplateOf(text: string): string {
  if (text !== "" && !/^https?:\/\/[^\s<>"\\]{1,200}$/.test(text)) {
    throw refusedError("url_template", "must be an http or https address")
  }
  return text
}

const refusedError = (field: string, wanted: string) =>
  fieldError(`user.${field}_invalid`, field, wanted)
