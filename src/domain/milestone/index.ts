import { reached } from "./model.ts"
import { milestoneReactor } from "./reactor.ts"

/** What this module is to the whole. */
export const module = {
  aggregates: [reached],
  reactors: [milestoneReactor],
  history: () => import("./history.ts"),
  operations: () => import("./api.ts"),
} as const
