import { fieldError } from "../fault.ts"
import { hasInvisible, normalForm } from "./name.ts"

const maxLength = 200

const controlCharacters = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u

/** Parses a display name: trimmed, normalized, 1 to 200 characters, no control characters. */
export function parseDisplayName(field: string, text: string): string {
  const name = normalForm(text, "NFC").trim()
  if (name === "" || name.length > maxLength || controlCharacters.test(name)) {
    throw invalidFieldError(
      field,
      `must have 1 to ${maxLength} characters and no control characters`,
    )
  }
  return name
}

/** Parses an ID chosen by the caller; the next of `ids` if it is absent. */
export function parseResourceId(
  ids: { readonly next: () => string },
  field: string,
  text: string | undefined,
): string {
  if (!text) return ids.next()
  if (text.length > maxLength || /\s/u.test(text) || hasInvisible(text)) {
    throw invalidFieldError(field, `must have 1 to ${maxLength} visible characters without spaces`)
  }
  // RFC 3986 §5.2.4: URL resolution removes dot segments from paths.
  if (text === "." || text === "..") throw invalidFieldError(field, "must not be only dots")
  return text
}

const invalidFieldError = (field: string, requirement: string) =>
  fieldError("request.field_invalid", field, requirement)
