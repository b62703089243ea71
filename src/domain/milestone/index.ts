import { reachedMilestones } from "./model.ts"
import { milestoneReactor } from "./reactor.ts"

/** The registration of this module. */
export const module = {
  aggregates: [reachedMilestones],
  reactors: [milestoneReactor],
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
