import { targetReactor } from "./at/event.ts"
import { execution, target } from "./model.ts"
import { targetView } from "./view.ts"

export { askTargets, hasFunction } from "./at/function.ts"
export { mayMendTargets, type Say, sayOf } from "./at/operation.ts"
export { blockedExecutions } from "./blocked.ts"
export { type FunctionName, toCondition } from "./condition.ts"
export { type Execution, execution, type Target, type TargetSettings, target } from "./model.ts"
export { presenterOf } from "./presented.ts"

/** What this module is to the whole. */
export const module = {
  aggregates: [target, execution],
  views: [targetView],
  reactors: [targetReactor],
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
