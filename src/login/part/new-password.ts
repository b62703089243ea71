import type { NewPassword } from "../../domain/credential/index.ts"
import { Fault } from "../../kernel/fault.ts"
import { type PasswordText, passwordText } from "../appearance/fault-text.ts"
import type { Fields } from "../form.ts"

/** Parses a new password with its repetition; returns the problem to show if it is invalid. */
export async function parseNewPassword(
  fields: Fields,
  prepare: (plain: string) => Promise<NewPassword>,
): Promise<NewPassword | NewPasswordProblem> {
  const plain = fields.get("password")
  if (plain === "") return { at: "password", key: "password_change.error.missing" }
  if (plain !== fields.get("repeat")) return { at: "repeat", key: "password_change.error.repeat" }
  try {
    return await prepare(plain)
  } catch (cause) {
    const key = cause instanceof Fault ? passwordText[cause.id] : undefined
    if (key) return { at: "password", key }
    throw cause
  }
}

export type NewPasswordProblem = {
  readonly at: "password" | "repeat"
  readonly key: `password_change.error.${"missing" | "repeat"}` | PasswordText
}
