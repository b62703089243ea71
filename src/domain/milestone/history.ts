import { historyOf } from "../../store/index.ts"
import { reached } from "./model.ts"

export const reachedHistory = historyOf(reached, { noUndo: { fact: ["*"] } })
