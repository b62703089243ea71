import { historyOf } from "../../store/index.ts"
import { signUpLink } from "./model.ts"

export const signUpLinkHistory = historyOf(signUpLink, {
  hidden: ["orgId", "hashed"],
  noUndo: { secret: ["*"] },
})
