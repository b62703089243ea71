import { historyOf } from "../../store/index.ts"
import { action, flow } from "./model.ts"

const operations = "core.management.v1.ManagementService/*Action"

export const actionHistory = historyOf(action, {
  hidden: ["orgId", "authors"],
  operations,
  present: ({ timeoutMs, ...state }) => ({ ...state, timeout: timeoutMs / 1000 }),
})

export const flowHistory = historyOf(flow, {
  hidden: ["authors"],
  operations,
  target: ({ event }) => event.data,
  undo: {
    "org.flow.trigger_actions.set": ({ event: { data }, before: { actions } }) => [
      "SetTriggerActions",
      { actionIds: actions[`${data.triggerType}`] },
    ],
    "org.flow.cleared": ({ before: { actions } }) => {
      const [only, ...others] = Object.entries(actions)
      // Each trigger is undone separately.
      if (!only || others.length > 0) return "parts"
      const [triggerType, actionIds] = only
      return ["SetTriggerActions", { triggerType, actionIds }]
    },
  },
  noUndo: { cascade: ["*.cascade.*"] },
})
