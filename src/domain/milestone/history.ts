import { historyOf } from "../../store/index.ts"
import { reachedMilestones } from "./model.ts"

export const reachedHistory = historyOf(reachedMilestones, { noUndo: { fact: ["*"] } })
