import { Fault, fieldError } from "../../kernel/fault.ts"
import { isLinkTemplate } from "../../kernel/text/language.ts"

const invalidErrorId = "policy.value_invalid"

/** The fault for an invalid value. */
export const invalidError = (expected: string): Fault =>
  new Fault("invalid_argument", invalidErrorId, expected)

/** The fault for an invalid field. */
export const invalidFieldError = (field: string, expected: string): Fault =>
  fieldError(invalidErrorId, field, expected)

/** Rejects numbers that are not integers within the bounds. */
export function requireInteger(
  field: string,
  value: number,
  { min, max }: { readonly min: number; readonly max: number },
): void {
  if (Number.isInteger(value) && value >= min && value <= max) return
  throw invalidFieldError(field, `must be a whole number from ${min} to ${max}`)
}

const urlLengthMax = 2048

/** Rejects texts that are not web URLs; empty is allowed. */
export function requireUrl(field: string, value: string): void {
  if (value === "") return
  const protocol = URL.parse(value)?.protocol
  const isOpen = protocol === "https:" || protocol === "http:"
  if (isOpen && value.length <= urlLengthMax && value === value.trim()) return
  throw invalidFieldError(field, "must be a URL that starts with https:// or http://, or empty")
}

/** Rejects texts that are not web URLs, which may contain the language placeholder. */
export function requireLinkTemplate(field: string, value: string): void {
  requireUrl(field, value)
  if (isLinkTemplate(value)) return
  throw invalidFieldError(field, "must have no placeholder other than {{.Lang}}")
}

/** Rejects texts that are not email addresses; empty is allowed. */
export function requireEmail(field: string, value: string): void {
  if (value === "" || (value.length <= 320 && /^[^\s@,;<>"]+@[^\s@,;<>"]+$/.test(value))) return
  throw invalidFieldError(field, "must be an email address, or empty")
}

/** Rejects a text that is too long or contains invisible characters. */
export function requirePlainText(
  field: string,
  value: string,
  { max }: { readonly max: number },
): void {
  if (value.length <= max && !/\p{C}/u.test(value)) return
  throw invalidFieldError(field, `must be plain text of at most ${max} characters`)
}

/** Rejects texts that are not colors. */
export function requireColor(field: string, value: string): void {
  if (/^#[0-9a-f]{6}$/i.test(value)) return
  throw invalidFieldError(field, "must be a color such as #5469d4")
}
