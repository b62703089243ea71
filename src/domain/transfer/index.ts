import { transfer } from "./model.ts"

/** The registration of this module, which exports and imports organizations with all their data. */
export const module = {
  aggregates: [transfer],
  operations: () => import("./api.ts"),
} as const
