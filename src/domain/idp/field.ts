import { fieldError } from "../../kernel/fault.ts"

/** Rejects text that is empty, too long or contains control characters. */
export function validateShortText(field: string, text = ""): void {
  if (text.trim() !== "" && text.length <= 200 && !/[\p{C}\p{Zl}\p{Zp}]/u.test(text)) return
  throw invalidFieldError(field, "must be 1 to 200 characters of plain text")
}

export const invalidFieldError = (field: string, expected: string) =>
  fieldError("idp.field_invalid", field, expected)
