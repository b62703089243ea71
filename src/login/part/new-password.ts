import type { NewPassword } from "../../domain/credential/index.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Fields } from "../form.ts"
import { type PasswordText, passwordText } from "../look/fault-text.ts"

/** Reads a new password that was typed twice; or what is wrong with it, to be said beside it. */
export async function newPasswordIn(
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
