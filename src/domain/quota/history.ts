import { formerValues, historyOf } from "../../store/index.ts"
import { limits, quota, restrictions } from "./model.ts"

export const restrictionsHistory = historyOf(restrictions, {
  undo: {
    "restrictions.set": ({ before, after }) => {
      const { allowedLanguages: list, ...rest } = formerValues(before, after)
      return [
        "core.admin.v1.AdminService/SetRestrictions",
        { ...rest, ...(list && { allowedLanguages: { list } }) },
      ]
    },
  },
})

export const quotaHistory = historyOf(quota, { noUndo: { operator: ["*"] } })

export const limitsHistory = historyOf(limits, { noUndo: { operator: ["*"] } })
