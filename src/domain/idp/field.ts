import { fieldError } from "../../kernel/fault.ts"

/** Refuses what is no name of something. */
export function shortText(field: string, text = ""): void {
  if (text.trim() !== "" && text.length <= 200 && !/[\p{C}\p{Zl}\p{Zp}]/u.test(text)) return
  throw refusedError(field, "must be plain text of 1 to 200 characters")
}

export const refusedError = (field: string, wanted: string) =>
  fieldError("idp.field_invalid", field, wanted)
