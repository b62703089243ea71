import { fieldError } from "../fault.ts"
import { hasUnseen, normalForm } from "./name.ts"

const lengthMax = 200

const control = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u

/** Reads a name that is shown: trimmed, in one form, 1 to 200 characters, none of control. */
export function givenName(field: string, text: string): string {
  const name = normalForm(text, "NFC").trim()
  if (name === "" || name.length > lengthMax || control.test(name)) {
    throw refusedError(field, `must have 1 to ${lengthMax} characters and no control characters`)
  }
  return name
}

/** Reads an id that the caller chose; the next one of `ids` where they left it out. */
export function givenId(
  ids: { readonly next: () => string },
  field: string,
  text: string | undefined,
): string {
  if (!text) return ids.next()
  if (text.length > lengthMax || /\s/u.test(text) || hasUnseen(text)) {
    throw refusedError(field, `must have 1 to ${lengthMax} visible characters without spaces`)
  }
  // RFC 3986 §5.2.4: as a part of a path these never arrive.
  if (text === "." || text === "..") throw refusedError(field, "must be more than dots")
  return text
}

const refusedError = (field: string, wanted: string) =>
  fieldError("request.field_invalid", field, wanted)
