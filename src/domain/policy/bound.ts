import { Fault, fieldError } from "../../kernel/fault.ts"
import { isLinkTemplate } from "../../kernel/text/language.ts"

const invalid = "policy.value_invalid"

/** What a caller gets who says what can't be meant. */
export const refusedError = (wanted: string): Fault =>
  new Fault("invalid_argument", invalid, wanted)

/** The same, about one field. */
export const refusedFieldError = (field: string, wanted: string): Fault =>
  fieldError(invalid, field, wanted)

/** Refuses what is no whole number within its bounds. */
export function wholeNumber(
  field: string,
  value: number,
  { min, max }: { readonly min: number; readonly max: number },
): void {
  if (Number.isInteger(value) && value >= min && value <= max) return
  throw refusedFieldError(field, `must be a whole number from ${min} to ${max}`)
}

const addressMax = 2048

/** Refuses what a page must not lead to; empty is nothing. */
export function webAddress(field: string, value: string): void {
  if (value === "") return
  const protocol = URL.parse(value)?.protocol
  const isOpen = protocol === "https:" || protocol === "http:"
  if (isOpen && value.length <= addressMax && value === value.trim()) return
  throw refusedFieldError(
    field,
    "must be an address that starts with https:// or http://, or empty",
  )
}

/** The same for a link that may name the language of its reader. */
export function linkTemplate(field: string, value: string): void {
  webAddress(field, value)
  if (isLinkTemplate(value)) return
  throw refusedFieldError(field, "must have no placeholder other than {{.Lang}}")
}

/** Refuses what no mail could be sent to; empty is nothing. */
export function mailAddress(field: string, value: string): void {
  if (value === "" || (value.length <= 320 && /^[^\s@,;<>"]+@[^\s@,;<>"]+$/.test(value))) return
  throw refusedFieldError(field, "must be an e-mail address, or empty")
}

/** Refuses a text that is too long, or has what nobody sees. */
export function shortText(field: string, value: string, { max }: { readonly max: number }): void {
  if (value.length <= max && !/\p{C}/u.test(value)) return
  throw refusedFieldError(field, `must be plain text of at most ${max} characters`)
}

/** Refuses what is no colour. */
export function color(field: string, value: string): void {
  if (/^#[0-9a-f]{6}$/i.test(value)) return
  throw refusedFieldError(field, "must be a colour such as #5469d4")
}
