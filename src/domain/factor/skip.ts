import { user } from "../user-model/index.ts"
import { requireHuman } from "./ready.ts"

/** Records that a user postponed setting up a second factor. */
export const skipFactors = user.command((state) => {
  requireHuman(state)
  return [{ type: "user.human.mfa.init.skipped", data: {} }]
})
