import { targetReactor } from "./call/event.ts"
import { execution, target } from "./model.ts"
import { targetView } from "./view.ts"

export { blockedExecutions } from "./blocked.ts"
export { askTargets, hasFunction } from "./call/function.ts"
export { canManageTargets, type TargetCalls, targetCallsOf } from "./call/operation.ts"
export { type FunctionName, toCondition } from "./condition.ts"
export { createPresenter } from "./event-presenter.ts"
export { type Execution, execution, type Target, type TargetSettings, target } from "./model.ts"

/** The registration of this module. */
export const module = {
  aggregates: [target, execution],
  views: [targetView],
  reactors: [targetReactor],
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
