import type { NewPassword } from "../../domain/credential/index.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Fields } from "../form.ts"

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
    const key = cause instanceof Fault ? wrongs[cause.id] : undefined
    if (key) return { at: "password", key }
    throw cause
  }
}

/** What is wrong with a new password, in the person's language. */
const wrongs: Readonly<Record<string, NewPasswordProblem["key"]>> = {
  "user.password_too_simple": "password_change.error.simple",
  "user.password_is_name": "password_change.error.name",
  "user.password_common": "password_change.error.common",
  "user.password_reused": "password_change.error.reused",
  "user.password_unchanged": "password_change.error.same",
  "password.too_long": "password_change.error.long",
  "password.busy": "password.error.busy",
}

export type NewPasswordProblem = {
  readonly at: "password" | "repeat"
  readonly key:
    | `password_change.error.${"missing" | "repeat" | "simple" | "name" | "same" | "long"}`
    | `password_change.error.${"common" | "reused"}`
    | "password.error.busy"
}
