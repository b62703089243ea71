import { user } from "../user-model/index.ts"
import { personIn } from "./ready.ts"

/** Notes that a person has put off to set up a second factor. */
export const skipFactors = user.command((state) => {
  personIn(state)
  return [{ type: "user.human.mfa.init.skipped", data: {} }]
})
