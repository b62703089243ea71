import { fieldError } from "../kernel/fault.ts"
import { hasInvisible, normalForm } from "../kernel/text/name.ts"
import { foldEmail } from "./email.ts"

/**
 * Parsers for user fields: trimmed, normalized, within limits. Each rejects with `invalid_argument`
 * and states the requirement without repeating the value.
 */
const maxTextLength = 200

/** Unassigned and private-use characters, which have no defined appearance. */
const unassigned = /[\p{Co}\p{Cn}]/u
const hasUnclearCharacters = (text: string): boolean => hasInvisible(text) || unassigned.test(text)

const controlCharacters = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u

/** A login name; compare login names folded. */
export function parseLoginName(text: string): string {
  const name = normalForm(text, "NFKC").trim()
  if (name === "" || name.length > maxTextLength || hasUnclearCharacters(name)) {
    throw invalidFieldError("username", `must have 1 to ${maxTextLength} visible characters`)
  }
  return name.replace(/ +/g, " ")
}

/** The parts of a name before and after its last "@"; undefined without a domain. */
export function splitAtDomain(name: string) {
  const at = name.lastIndexOf("@")
  if (at < 1 || at === name.length - 1) return undefined
  return { local: name.slice(0, at), domain: name.slice(at + 1) }
}

/** An optional text: trimmed, normalized, without control characters. */
export function parseOptionalText(
  field: string,
  text: string | undefined,
  max = maxTextLength,
): string {
  const shown = normalForm(text ?? "", "NFC").trim()
  if (shown.length > max || controlCharacters.test(shown)) {
    throw invalidFieldError(field, `must have at most ${max} characters and no control characters`)
  }
  return shown
}

/** The default display name of a user. */
export const formatFullName = ({
  givenName,
  familyName,
}: {
  readonly givenName: string
  readonly familyName: string
}) => `${givenName} ${familyName}`

/** An email address: one local part, one domain, no characters that are special in mail headers. */
export function parseEmail(text: string): string {
  const address = normalForm(text, "NFC").trim()
  if (
    address.length > maxTextLength ||
    hasUnclearCharacters(address) ||
    !emailShape.test(address)
  ) {
    throw invalidFieldError("email", "must be an email address such as name@example.com")
  }
  return address
}

const label = String.raw`[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?`
const emailShape = new RegExp(String.raw`^[^\s@"(),:;<>[\\\]]+@${label}(?:\.${label})*$`, "u")

/** Whether two texts are the same email address. */
export const isSameEmail = (one: string, other: string): boolean =>
  foldEmail(one) === foldEmail(other)

/** A phone number in international form (E.164), without grouping. */
export function parsePhone(text: string): string {
  const number = withoutGrouping(text)
  if (!phoneShape.test(number)) {
    throw invalidFieldError("phone", "must be an international number such as +41791234567")
  }
  return number
}

/** Whether a text is a valid phone number. */
export const isPhone = (text: string): boolean => phoneShape.test(withoutGrouping(text))

/** Whether two texts are the same number, ignoring grouping. */
export const isSamePhone = (one: string, other: string): boolean =>
  withoutGrouping(one) === withoutGrouping(other)

const withoutGrouping = (text: string): string => text.trim().replace(/[\s().-]/g, "")
const phoneShape = /^\+[1-9]\d{6,14}$/

/** Whether a text is a language tag (BCP 47) that a user can have. */
export const isLanguage = (text: string): boolean =>
  text.length <= 10 && /^[a-z]{2,3}(-[a-z0-9]{2,8})*$/i.test(text)

/** A language tag, or an empty text. */
export function parseLanguage(text: string): string {
  if (text !== "" && !isLanguage(text)) {
    throw invalidFieldError("preferred_language", "must be a language tag such as en or pt-BR")
  }
  return text
}

/**
 * The template of a link in a mail: a page URL with placeholders. Backslashes are rejected: some
 * programs treat them as slashes, others as part of the user name before the host.
 */
export function parseUrlTemplate(text: string): string {
  if (text !== "" && !/^https?:\/\/[^\s<>"\\]{1,200}$/.test(text)) {
    throw invalidFieldError("url_template", "must be an http or https URL")
  }
  return text
}

const invalidFieldError = (field: string, requirement: string) =>
  fieldError(`user.${field}_invalid`, field, requirement)
