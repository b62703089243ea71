import { type UserFormat, userSchema } from "../user.ts"
import { jsonSource } from "./entry.ts"

/** The output of `latchkey users export --format json`: one user per line. */
export const latchkey: UserFormat = {
  help: "Output of latchkey users export --format json",
  open: async (path) => jsonSource(path, userSchema, (value) => value),
}
