import { historyOf } from "../../store/index.ts"
import { customText } from "./model.ts"

export const customTextHistory = historyOf(customText, {
  personal: ["texts"],
  hidden: ["authors"],
  noUndo: { texts: ["*"] },
})
